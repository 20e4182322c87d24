import shutil

import pytest


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not binary or not driver:
        pytest.skip("chromium and chromedriver are not installed")
    downloads = tmp_path_factory.mktemp("downloads")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    quiet = (
        "disable-gpu disable-quic no-first-run disable-background-networking "
        "disable-component-update disable-sync"
    )
    for word in ("headless=new no-sandbox " + quiet).split():
        options.add_argument(f"--{word}")
    settings = {
        "download.default_directory": str(downloads),
        # A script that clicks twice may download twice, as a reader may.
        "profile.default_content_setting_values.automatic_downloads": 1,
    }
    options.add_experimental_option("prefs", settings)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    made = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    made.downloads = downloads
    yield made
    made.quit()


@pytest.fixture
def screen(browser):
    """Sets the size of the browser's screen, in pixels; the test's end gives it back its own."""

    def resized(width, height=900, *, mobile=False):
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    yield resized
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
