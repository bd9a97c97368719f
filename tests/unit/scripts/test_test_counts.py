"""Every runner's skips are counted with their reasons; what broke is never taken for a pass."""

from testing import counts

TAP = """\
> web-tests@ test
TAP version 13
# Subtest: fine
ok 1 - fine
  ---
  duration_ms: 1
  ...
# Subtest: group
    # Subtest: inner
    ok 1 - inner \\# 1 # SKIP no corpora here
    1..1
ok 2 - group
ok 3 - without a word # SKIP
ok 4 - later # TODO not yet
not ok 5 - broken
1..5
# tests 6
# pass 2
# fail 1
# cancelled 0
# skipped 2
# todo 1
"""


def test_node_says_what_it_skipped_and_why() -> None:
    found = counts.tap(TAP)
    assert (found.passed, found.failed) == (2, ["broken"])
    assert found.skipped == ["inner \\# 1: no corpora here", "without a word: skip", "later: not yet"]


def test_two_runners_after_each_other_are_added_up() -> None:
    found = counts.tap(TAP + TAP)
    assert (found.passed, len(found.failed), len(found.skipped)) == (4, 2, 6)


def test_what_node_cancelled_has_failed() -> None:
    found = counts.tap("ok 1 - a\n# pass 1\n# fail 0\n# cancelled 1\n")
    assert (found.passed, found.failed) == (1, ["?"])


GO = """\
{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"A"}
{"Action":"output","Package":"p","Test":"A","Output":"=== RUN   A\\n"}
{"Action":"output","Package":"p","Test":"B","Output":"    b_test.go:3: no git here\\n"}
{"Action":"output","Package":"p","Test":"A","Output":"    a_test.go:9: 1 is not 2\\n"}
{"Action":"output","Package":"p","Test":"B","Output":"--- SKIP: B (0.00s)\\n"}
{"Action":"skip","Package":"p","Test":"B"}
{"Action":"fail","Package":"p","Test":"A"}
{"Action":"pass","Package":"p","Test":"C"}
{"Action":"fail","Package":"p"}
# q
q/x.go:1: syntax error
17
"""


def test_go_says_what_it_skipped_and_why_and_stays_readable() -> None:
    found, plain = counts.go(GO)
    assert (found.passed, found.failed) == (1, ["p.A"])
    assert found.skipped == ["p.B: b_test.go:3: no git here"]
    assert "    a_test.go:9: 1 is not 2\n" in plain
    assert plain.endswith("# q\nq/x.go:1: syntax error\n17\n"), "what is not an event is kept"
    assert '"Action"' not in plain


def test_pytest_s_report_is_read_whole() -> None:
    report = b"""<testsuites><testsuite>
      <testcase classname="a" name="one"/>
      <testcase classname="a" name="two"><skipped message="no helm"/></testcase>
      <testcase classname="a" name="three"><failure/></testcase>
      <testcase classname="a" name="four"><error/></testcase>
    </testsuite></testsuites>"""
    found = counts.junit(report)
    assert (found.passed, found.failed, found.skipped) == (1, ["a::three", "a::four"], ["a::two: no helm"])
