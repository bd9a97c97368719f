"""The cache asks once, and forgets the item that was used last."""

import unittest

from shop.prices import Prices


class PricesTest(unittest.TestCase):
    def setUp(self) -> None:
        self.asked: list[str] = []
        self.prices = Prices(self.lookup, maxsize=2)

    def lookup(self, item: str) -> int:
        self.asked.append(item)
        return len(item)

    def test_asks_once(self) -> None:
        self.assertEqual(self.prices.of("pear"), 4)
        self.assertEqual(self.prices.of("pear"), 4)
        self.assertEqual(self.asked, ["pear"])

    def test_forgets_what_was_used_last(self) -> None:
        for item in ("fig", "plum", "plum", "cherry"):
            self.prices.of(item)
        self.asked.clear()
        self.prices.of("fig")
        self.assertEqual(self.asked, [])
        self.prices.of("plum")
        self.assertEqual(self.asked, ["plum"])


if __name__ == "__main__":
    unittest.main()
