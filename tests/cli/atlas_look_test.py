"""The sharding atlas on screens of all kinds, with names of all kinds and without a network."""

import json
import unittest

from selenium.webdriver.common.keys import Keys

import atlas_case

# What a person takes for immediate, several times over: the machine may be busy with other tests.
LOAD_MS, ANSWER_MS = 5000, 800

setUpModule = atlas_case.set_up


class LookTest(atlas_case.AtlasCase):
    def test_theme_follows_the_system_and_the_button(self):
        ground = "return getComputedStyle(document.body).backgroundColor"
        self.open("small", scheme="dark")
        dark, map_dark = self.script(ground), self.pixel("#map", 300, 60)
        self.open("small", scheme="light")
        light = self.script(ground)
        self.assertNotEqual(dark, light)
        self.find("#theme").click()
        self.assertEqual(self.script(ground), dark)
        self.assertEqual(self.pixel("#map", 300, 60), map_dark)
        self.find("#theme").click()
        self.assertEqual(self.script(ground), light)

    def test_text_has_enough_contrast(self):
        contrast = """
          const luminance = (colour) => {
            const [r, g, b] = colour.trim().match(/\\w\\w/g).map((part) => {
              const value = parseInt(part, 16) / 255;
              return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
            });
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
          };
          const style = getComputedStyle(document.documentElement);
          const of = (name) => luminance(style.getPropertyValue(name));
          const pairs = [];
          for (const text of ['--text', '--muted', '--accent', '--bad']) {
            for (const ground of ['--card', '--ground', '--soft']) {
              const [a, b] = [of(text), of(ground)].sort((x, y) => y - x);
              pairs.push([`${text} on ${ground}`, (a + 0.05) / (b + 0.05)]);
            }
          }
          const [a, b] = [of('--on-accent'), of('--accent')].sort((x, y) => y - x);
          pairs.push(['--on-accent on --accent', (a + 0.05) / (b + 0.05)]);
          return pairs;"""
        for scheme in ("light", "dark"):
            self.open("small", scheme=scheme)
            for pair, ratio in self.script(contrast):
                with self.subTest(scheme=scheme, pair=pair):
                    self.assertGreaterEqual(ratio, 4.5)

    def test_nothing_is_wider_than_the_window(self):
        for kind in ("small", "hostile", "empty", "large"):
            for width in (390, 900, 1440):
                with self.subTest(kind=kind, width=width):
                    self.open(kind, width=width, height=844)
                    if kind == "hostile":
                        self.script("""
                          document.querySelector('#rules tr[data-rule="2"] button').click();
                          document.querySelector('#keys .row').click();""")
                    self.assertEqual(self.script(
                        "return [document.documentElement.scrollWidth <= innerWidth, innerWidth]"),
                        [True, width])

    def test_every_control_has_a_name(self):
        self.open("small")
        nameless = self.script("""
          const isNamed = (element) =>
            element.ariaLabel || element.labels?.length || element.textContent.trim();
          return [...document.querySelectorAll('button, input, select, [tabindex="0"]')]
            .filter((element) => !isNamed(element)).map((element) => element.outerHTML);""")
        self.assertEqual(nameless, [])

    def test_colours_of_the_map(self):
        self.open("small")
        box = self.script("return atlas.boxOf('layers.7.mlp.experts')")
        at = (box["x"] + box["w"] / 2, box["y"] + box["h"] * 0.7)
        seen = set()
        for colour in ("rule", "dtype", "amplification", "replication"):
            self.script("""
              const select = document.getElementById('colour');
              select.value = arguments[0];
              select.dispatchEvent(new Event('change'));""", colour)
            seen.add(self.pixel("#map", *at))
        self.assertEqual(len(seen), 4)
        self.assertIn("devices per element", self.text("#legend"))

    def test_prints(self):
        self.open("small", scheme="dark")
        pdf = self.browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
        self.assertGreater(len(pdf["data"]), 10000)
        self.assertEqual(self.script("return document.documentElement.dataset.theme"), "dark")


class HostileTest(atlas_case.AtlasCase):
    IMAGE = "<img src=x onerror=document.title=1>"

    def test_keys_patterns_and_title_stay_text(self):
        self.open("hostile")
        self.assertEqual(self.text("h1"), f"</title></script>{self.IMAGE}")
        self.assertEqual(self.browser.title, f"</title></script>{self.IMAGE}")
        self.assertEqual(self.script("return document.images.length"), 0)
        self.assertEqual(self.script("return document.scripts.length"), 2)
        rows = self.rows()
        self.assertIn(f"a<{self.IMAGE}&lt;\"'", rows)
        self.assertIn("<!--<script>alert(1)", rows)
        self.assertIn("__proto__.constructor", rows)
        self.script("document.querySelector('#search').value = '<img';"
                    "document.querySelector('#search').dispatchEvent(new Event('input'))")
        self.assertEqual(self.text("#hits"), "1 hit")
        self.find("#keys .row").click()
        self.assertEqual(self.text("#array-key"), f"a<{self.IMAGE}&lt;\"'")
        self.assertEqual(self.script("return document.images.length"), 0)

    def test_a_huge_array_is_drawn_at_once(self):
        for view in ("shards", "reads"):
            self.open("hostile", key="huge", view=view)
            self.assertIn("1,099,511,627,776", self.text("#grid-rows"))
            self.assertIn("too many to draw each", self.text("#grid-legend"))
            self.assertNotEqual(self.pixel("#grid", 5, 5), 0)
            self.assertLess(self.load_time(), LOAD_MS)

    def test_a_deep_key_is_a_key(self):
        key = "d." * 120 + "end"
        self.open("hostile", key=key)
        self.assertEqual(self.text("#array-key"), key)

    def test_no_arrays_are_no_trouble(self):
        self.open("empty")
        self.assertEqual(self.totals()["Arrays"], "0")
        self.assertEqual(self.rows(), [])
        self.assertEqual(self.text("#array-hint"), "Select an array in the list or in the map.")
        self.press("#map-marks", Keys.ARROW_LEFT, Keys.ENTER)
        self.press("#devices", Keys.ARROW_RIGHT)
        self.press("#keys", Keys.END, Keys.ENTER)

    def test_the_policy_refuses_what_is_not_of_the_page(self):
        self.open("small")
        self.assertEqual(self.script("""
          return new Promise((done) => {
            addEventListener('securitypolicyviolation', (event) => done(event.effectiveDirective));
            const script = document.createElement('script');
            script.textContent = 'window.ran = true';
            document.body.append(script);
          });"""), "script-src-elem")
        self.assertIsNone(self.script("return window.ran"))
        self.browser.get_log("browser")  # the refusal, which was asked for


class NetworkTest(atlas_case.AtlasCase):
    def test_nothing_but_the_file_is_asked_for(self):
        self.browser.get_log("performance")
        self.open("small")
        self.find("#theme").click()
        asked = []
        for entry in self.browser.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                asked.append(message["params"]["request"]["url"].split("#")[0].split(",")[0])
        self.assertLessEqual(set(asked), {self.pages["small"].as_uri(), "data:", "about:blank"})


if __name__ == "__main__":
    unittest.main()
