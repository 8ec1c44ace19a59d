"""What the tests of the sharding atlas share: pages made for them, and a browser.

usage: atlas_..._test.py ATLAS_PROGRAM CHROMIUM CHROMEDRIVER [TEST...]

ATLAS_PROGRAM is the program of atlas_program.cc.  The browser has no network, and every test ends
by looking whether it complained.
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

PROGRAM, CHROMIUM, CHROMEDRIVER = sys.argv[1:4]
del sys.argv[1:4]


def start_browser():
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--no-first-run", "--disable-background-networking",
                     "--disable-component-update", "--force-color-profile=srgb"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(CHROMEDRIVER))
    browser.execute_cdp_cmd("Network.enable", {})
    browser.execute_cdp_cmd("Network.emulateNetworkConditions", {
        "offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0})
    return browser


def set_up():
    """For setUpModule of each test."""
    folder = tempfile.TemporaryDirectory(prefix="tessera-atlas-")
    unittest.addModuleCleanup(folder.cleanup)
    for kind in ("small", "hostile", "empty", "large"):
        AtlasCase.pages[kind] = pathlib.Path(folder.name) / f"{kind}.html"
        subprocess.run([PROGRAM, AtlasCase.pages[kind], kind], check=True)
    AtlasCase.browser = start_browser()
    unittest.addModuleCleanup(AtlasCase.browser.quit)


class AtlasCase(unittest.TestCase):
    maxDiff = None
    pages = {}
    browser = None

    def tearDown(self):
        messages = [entry["message"] for entry in self.browser.get_log("browser")]
        self.assertEqual(messages, [])

    def open(self, kind, width=1440, height=900, scheme="light", **fields):
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": scheme}]})
        self.browser.get("about:blank")
        self.browser.get(f"{self.pages[kind].as_uri()}#{urllib.parse.urlencode(fields)}")
        self.wait("return performance.getEntriesByName('atlas-ready').length === 1")

    def script(self, text, *arguments):
        return self.browser.execute_script(text, *arguments)

    def wait(self, condition):
        WebDriverWait(self.browser, 20, 0.05).until(lambda _: self.script(condition))

    def load_time(self):
        return self.script("return performance.getEntriesByName('atlas-ready')[0].startTime")

    def find(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def text(self, selector):
        return self.script("return document.querySelector(arguments[0]).textContent", selector)

    def facts(self):
        return self.script("return Object.fromEntries([...document.querySelectorAll('#facts dt')]"
                           ".map((dt) => [dt.textContent, dt.nextSibling.textContent]))")

    def totals(self):
        return self.script("return Object.fromEntries([...document.querySelectorAll('#totals div')]"
                           ".map((tile) => [...tile.children].map((part) => part.textContent)))")

    def rows(self):
        return self.script("return [...document.querySelectorAll('#keys .row .label')]"
                           ".map((label) => label.textContent)")

    def fields(self):
        """Of the address, once it has settled."""
        self.script("return new Promise((done) => setTimeout(done, 300))")
        return dict(urllib.parse.parse_qsl(self.script("return location.hash.slice(1)")))

    def press(self, selector, *keys):
        self.script("document.querySelector(arguments[0]).focus()", selector)
        for key in keys:
            ActionChains(self.browser).send_keys(key).perform()

    def move_to(self, selector, x, y):
        """In pixels from the upper left corner of the element."""
        element = self.find(selector)
        self.script("arguments[0].scrollIntoView({block: 'center'})", element)
        size = element.size
        ActionChains(self.browser).move_to_element_with_offset(
            element, round(x - size["width"] / 2), round(y - size["height"] / 2)).perform()

    def click_at(self, selector, x, y):
        self.move_to(selector, x, y)
        ActionChains(self.browser).click().perform()

    def click_box(self, key):
        box = self.script("return atlas.boxOf(arguments[0])", key)
        self.click_at("#map-marks", box["x"] + box["w"] / 2, box["y"] + box["h"] / 2)

    def pixels(self, selector, x, y, width, height):
        """Of a canvas.  Read from a copy: the page itself never reads its canvases back."""
        return self.script("""
          const [selector, ...box] = arguments;
          const canvas = document.querySelector(selector);
          const copy = document.createElement('canvas');
          [copy.width, copy.height] = [canvas.clientWidth, canvas.clientHeight];
          const paint = copy.getContext('2d', { willReadFrequently: true });
          paint.drawImage(canvas, 0, 0, copy.width, copy.height);
          return [...new Uint32Array(paint.getImageData(...box).data.buffer)];""",
                           selector, x, y, width, height)

    def pixel(self, selector, x, y):
        return self.pixels(selector, int(x), int(y), 1, 1)[0]
