"""The sharding atlas in use: what it shows, and how it answers mouse, keys and links."""

import unittest

from selenium.webdriver.common.keys import Keys

import atlas_case

setUpModule = atlas_case.set_up


class ContentTest(atlas_case.AtlasCase):
    def test_totals_and_tables_tell_the_plan(self):
        self.open("small")
        self.assertEqual(self.text("h1"), "small model")
        self.assertEqual(self.text("#subtitle"), "tensorstore · Mesh('dp': 2, 'tp': 4)")
        self.assertEqual(self.browser.title, "small model")
        totals = self.totals()
        self.assertEqual(totals["Arrays"], "77")
        self.assertEqual(totals["Devices"], "8")
        self.assertEqual(totals["Hosts"], "2")
        self.assertEqual(totals["Bytes"], "3.03 GiB")
        self.assertEqual(totals["Balance"], "1.000")
        rules = self.script("""
          return [...document.querySelectorAll('#rules tbody tr')].map((row) =>
            [row.cells[0], row.querySelector('button'), row.querySelector('.tag'), row.cells[3]]
              .map((part) => part?.textContent ?? ''));""")
        self.assertEqual(rules[1], ["1", "(q|k|v)_proj/kernel$", "", "36"])
        self.assertEqual(rules[5], ["5", "layers/.*/kernel$", "shadowed by rule 1", "0"])
        self.assertEqual(rules[6], ["6", "adapter", "unused", "0"])
        self.assertEqual(rules[8], ["", "no rule", "", "1"])

    def test_warnings_lead_to_their_arrays(self):
        self.open("small")
        self.assertIn("over budget", self.text("#warnings"))
        key = self.script("""
          const button = document.querySelector('#warnings button.link:not(.more)');
          button.click();
          return button.textContent;""")
        self.assertEqual(self.text("#array-key"), key)

    def test_the_largest_array_is_selected_at_first(self):
        self.open("small")
        self.assertEqual(self.text("#array-key"), "embed.embedding")

    def test_numbers_of_an_array(self):
        self.open("small", key="layers.2.mlp.experts")
        facts = self.facts()
        self.assertEqual(facts["Shape"], "[8, 4096, 1408]")
        self.assertEqual(facts["Dtype"], "bfloat16")
        self.assertEqual(facts["Chunks"], "16 of [1, 2048, 1408], codec zstd")
        self.assertEqual(facts["Spec"], "P('tp', None, 'dp')")
        self.assertEqual(facts["Rule"], "3: experts$")
        self.assertEqual(facts["Shards"], "[2, 4096, 704], each on 1 device")
        self.assertEqual(facts["Per device"], "11.00 MiB")
        self.assertEqual(facts["Reads"], "32 requests, 176.00 MiB")
        self.assertEqual(facts["Amplification"], "2.00×: 176.00 MiB decoded for 88.00 MiB")

    def test_corrections_say_why(self):
        self.open("small", key="odd.table")
        self.assertEqual(self.text("#corrections"),
                         "Corrected: dimension 0: 'tp' -> None (does not divide)")

    def test_scalars_and_empty_arrays_are_shown(self):
        self.open("small", key="step")
        self.assertEqual(self.text("#grid-columns"), "One element.")
        self.assertEqual(len(set(self.pixels("#grid", 0, 0, 4, 4))), 1)
        self.assertNotEqual(self.pixel("#grid", 0, 0), 0)
        self.open("small", key="none")
        self.assertEqual(self.text("#grid-columns"), "The array has no elements.")
        self.assertFalse(self.find("#grid-place").is_displayed())

    def test_repeated_layers_are_folded_and_sorted_by_number(self):
        self.open("small", key="step")
        rows = self.rows()
        self.assertIn("{0…11}", rows)
        self.assertEqual(rows[:3], ["embed.embedding", "head.kernel", "layers"])
        self.press("#keys", Keys.HOME, *[Keys.ARROW_DOWN] * 3, Keys.ARROW_RIGHT)
        rows = self.rows()
        at = rows.index("{0…11}")
        self.assertEqual(rows[at + 1:at + 13], [str(i) for i in range(12)])


class SelectionTest(atlas_case.AtlasCase):
    def test_a_click_in_the_map_selects(self):
        self.open("small")
        self.click_box("layers.7.mlp.experts")
        self.assertEqual(self.text("#array-key"), "layers.7.mlp.experts")
        self.assertEqual(self.text('#keys .row[aria-selected="true"] .label'), "mlp.experts")
        self.assertEqual(self.fields()["key"], "layers.7.mlp.experts")

    def test_a_click_on_a_branch_zooms_and_crumbs_lead_back(self):
        self.open("small")
        self.click_at("#map-marks", 20, 6)
        self.assertEqual(self.text("#crumbs"), "all›layers")
        self.assertEqual(self.fields()["zoom"], "layers")
        self.find("#crumbs button").click()
        self.assertEqual(self.text("#crumbs"), "all")

    def test_keys_of_the_list(self):
        self.open("small")
        self.press("#keys", Keys.HOME, Keys.ARROW_DOWN, Keys.ENTER)
        self.assertEqual(self.text("#array-key"), "head.kernel")
        self.press("#keys", Keys.ARROW_DOWN, Keys.ENTER)
        self.assertEqual(self.text("#crumbs"), "all›layers")
        current = self.find("#keys").get_attribute("aria-activedescendant")
        self.assertEqual(self.text(f"#{current} .label"), "layers")
        self.press("#keys", Keys.ARROW_LEFT)
        self.assertNotIn("{0…11}", self.rows())
        self.press("#keys", Keys.END, Keys.ENTER)
        self.assertEqual(self.text("#array-key"), "step")

    def test_keys_of_the_map(self):
        self.open("small", key="layers.0.mlp.experts")
        self.press("#map-marks", Keys.ENTER)
        self.assertEqual(self.text("#crumbs"), "all›layers")
        self.press("#map-marks", Keys.ENTER)
        self.assertEqual(self.text("#crumbs"), "all›layers›0")
        self.press("#map-marks", Keys.ARROW_LEFT)
        self.assertIn("layers.0.attn.", self.text("#array-key"))
        self.press("#map-marks", Keys.ESCAPE, Keys.ESCAPE)
        self.assertEqual(self.text("#crumbs"), "all")

    def test_what_has_the_focus_can_be_seen(self):
        self.open("small")
        for selector in ("#search", "#keys", "#map-marks", "#devices", "#theme"):
            self.press(selector, Keys.SHIFT)
            outline = self.script("""
              const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
              return [document.activeElement.id, outlineStyle, outlineWidth];""")
            self.assertEqual(outline, [selector[1:], "solid", "2px"])


class SearchTest(atlas_case.AtlasCase):
    def search(self, text):
        self.press("body", "/")
        box = self.find("#search")
        self.assertEqual(self.browser.switch_to.active_element, box)
        box.clear()
        box.send_keys(text)

    def test_part_of_a_key(self):
        self.open("small")
        self.search("NORM.scale")
        self.assertEqual(self.text("#hits"), "12 hits")
        self.assertEqual(self.rows(), [f"layers.{i}.norm.scale" for i in range(12)])
        self.assertEqual(self.text("#keys mark"), "norm.scale")
        self.find("#search").send_keys(Keys.ENTER)
        self.assertEqual(self.text("#array-key"), "layers.0.norm.scale")
        self.assertEqual(self.fields()["q"], "NORM.scale")
        self.press("#keys", Keys.ESCAPE)
        self.assertEqual(self.text("#hits"), "")
        self.assertIn("{0…11}", self.rows())

    def test_regular_expression(self):
        self.open("small")
        self.search("/layers\\.1\\d\\..*(q|o)_proj/")
        self.assertEqual(self.text("#hits"), "4 hits")
        self.search("/layers(/")
        self.assertEqual(self.text("#hits"), "not a regular expression")
        self.assertEqual(self.find("#search").get_attribute("aria-invalid"), "true")
        self.assertEqual(self.rows(), [])

    def test_hits_stand_out_in_the_map(self):
        self.open("small")
        box = self.script("return atlas.boxOf('head.kernel')")
        at = (box["x"] + box["w"] / 2, box["y"] + box["h"] * 0.8)
        before = self.pixel("#map", *at)
        self.search("embedding")
        self.assertNotEqual(self.pixel("#map", *at), before)
        self.search("head")
        self.assertEqual(self.pixel("#map", *at), before)

    def test_a_rule_filters(self):
        self.open("small")
        self.script("document.querySelector('#rules tr[data-rule=\"3\"] button').click()")
        self.assertEqual(self.text("#hits"), "12 hits, rule 3")
        self.assertEqual(self.rows()[0], "layers.0.mlp.experts")
        self.assertEqual(self.fields()["rule"], "3")
        pressed = "return document.querySelector('#rules tr[data-rule=\"3\"] button').ariaPressed"
        self.assertEqual(self.script(pressed), "true")
        self.search("layers.1")
        self.assertEqual(self.text("#hits"), "3 hits, rule 3")
        self.script("document.querySelector('#rules tr[data-rule=\"3\"] button').click()")
        self.assertEqual(self.script(pressed), "false")


class DeviceTest(atlas_case.AtlasCase):
    def test_a_device_is_chosen_by_its_bar(self):
        self.open("small", key="layers.3.attn.o_proj.kernel")
        plain = self.pixel("#grid", 20, 4)
        width = self.find("#devices").size["width"]
        self.click_at("#devices", width * 2.5 / 8, 60)
        self.assertEqual(self.fields()["device"], "2")
        self.assertIn("Device 2, host 0: 788.69 MiB, 88.69 MiB over budget; 4.00 MiB of it",
                      self.text("#device-tells"))
        self.assertEqual(self.text("#grid-tells"),
                         "Device 2 on host 0 holds [1024:1536, 0:4096], 4.00 MiB; "
                         "1 chunk with 2.00× as many elements.")
        # The first shard is not its own and is dimmed.
        self.assertNotEqual(self.pixel("#grid", 20, 4), plain)

    def test_arrow_keys_go_from_device_to_device(self):
        self.open("small", key="layers.3.attn.o_proj.kernel")
        self.press("#devices", Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.END, Keys.ARROW_LEFT)
        devices = self.find("#devices")
        self.assertEqual(devices.get_attribute("aria-valuenow"), "6")
        self.assertIn("Device 6, host 1", devices.get_attribute("aria-valuetext"))
        self.press("#devices", Keys.ESCAPE)
        self.assertNotIn("device", self.fields())

    def test_a_click_in_the_grid_goes_through_the_replicas(self):
        self.open("small", key="layers.3.attn.q_proj.kernel")
        self.click_at("#grid", 10, 10)
        self.assertEqual(self.fields()["device"], "0")
        self.click_at("#grid", 10, 10)
        self.assertEqual(self.fields()["device"], "4")
        self.click_at("#grid", 10, 10)
        self.assertNotIn("device", self.fields())

    def test_the_place_under_the_pointer_tells_chunk_and_readers(self):
        self.open("small", key="layers.3.attn.o_proj.kernel")
        self.move_to("#grid", 10, self.find("#grid").size["height"] * 9 / 16)
        self.assertEqual(self.text("#grid-tells"),
                         "Shard on device 4. Chunk (2, 0) is read by 1 host.")
        self.open("small", key="layers.3.attn.q_proj.kernel")
        self.move_to("#grid", 10, 10)
        self.assertEqual(self.text("#grid-tells"),
                         "Shard on devices 0, 4. Chunk (0, 0) is read by 2 hosts.")

    def test_reads_are_counted_per_chunk(self):
        self.open("small", key="layers.3.attn.o_proj.kernel", view="reads")
        one = self.pixel("#grid", 20, 8)
        self.open("small", key="layers.3.attn.q_proj.kernel", view="reads")
        two = self.pixel("#grid", 20, 8)
        self.assertNotEqual(one, two)
        self.assertEqual(self.text('#view [aria-checked="true"]'), "Reads")

    def test_other_dimensions_can_be_drawn(self):
        self.open("small", key="layers.2.mlp.experts")
        self.assertIn("dim 0: 8, 4 shards, 8 chunks", self.text("#grid-rows"))
        self.assertIn("dim 2: 1,408, 2 shards, 1 chunk", self.text("#grid-columns"))
        self.script("""
          const rows = document.querySelector('#slice select[data-role=rows]');
          rows.value = '1';
          rows.dispatchEvent(new Event('change'));""")
        self.assertIn("dim 1: 4,096, not split, 2 chunks", self.text("#grid-rows"))
        self.assertIn("at 0 of 8", self.text("#slice"))
        # The shard of device 3 lies elsewhere along the dimension that is not drawn any more.
        self.press("#devices", Keys.HOME, *[Keys.ARROW_RIGHT] * 3)
        self.assertIn("holds [6:8, 0:4096, 0:704]", self.text("#grid-tells"))
        self.assertNotIn("another place", self.text("#grid-tells"))


class LinkTest(atlas_case.AtlasCase):
    def test_a_link_restores_the_view(self):
        view = {"key": "layers.4.attn.q_proj.kernel", "q": "q_proj", "rule": "1", "device": "5",
                "zoom": "layers.4", "colour": "replication", "view": "reads"}
        self.open("small", **view)
        self.assertEqual(self.text("#array-key"), view["key"])
        self.assertEqual(self.find("#search").get_attribute("value"), "q_proj")
        self.assertEqual(self.text("#hits"), "12 hits, rule 1")
        self.assertEqual(self.text("#crumbs"), "all›layers›4")
        self.assertEqual(self.find("#colour").get_attribute("value"), "replication")
        self.assertIn("Device 5", self.text("#device-tells"))
        self.script("location.hash = 'key=step'")
        self.wait("return document.getElementById('array-key').textContent === 'step'")
        self.assertEqual(self.fields(), {"key": "step"})

    def test_a_link_to_what_is_not_there_is_harmless(self):
        self.open("small", key="gone", rule="77", device="x", zoom="no.such", colour="toString")
        self.assertEqual(self.text("#array-hint"), "Select an array in the list or in the map.")
        self.assertEqual(self.text("#crumbs"), "all")


if __name__ == "__main__":
    unittest.main()
