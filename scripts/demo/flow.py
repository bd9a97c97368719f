"""`make demo` from its first line to its last: what it costs and lacks, the question, then the steps."""

import os

from needs import catalog, provide

from demo import clusters, console, install, job
from demo.clusters import Cluster
from demo.state import CACHE, State, place, say
from demo.tools import StepError

COST = """\
Guildhall demo: an agent team repairs a broken Python package inside your Kubernetes, cut off from the network.
  The model is scripted (no provider is called); everything else is real. What it takes:
  cluster  {cluster}
  images   {images}
  run      under a minute; with the cluster about 2 GB of memory
"""
FIRST_IMAGES = "8 images: about 3 minutes to build, 3 GB of disk"
LATER_IMAGES = "8 images; what did not change is not built again"
OTHER = """\
demo: there is a demo already, in {there}; this one would go to {here}.
Remove that one first: make demo-down"""
BY_HAND = """\
demo: nothing was done. This is missing, and only you can provide it:
{lines}"""


def prepared(cluster: Cluster, yes: bool) -> bool:
    """Whether everything it needs is there and the person agrees; installs what is missing in between."""
    lacks = catalog.lacking(cluster.needs())
    if any(not provide.installable(lack) for lack in lacks):
        say(BY_HAND.format(lines=provide.by_hand(lacks)))
        return False
    if lacks:
        say(f"To be installed first:\n{provide.plan(lacks)}\n")
    if not provide.agreed("Go on?", yes):
        say("Nothing was done.")
        return False
    if lacks:
        try:
            provide.install(lacks)
        except provide.ProvideError as problem:
            raise StepError(str(problem)) from problem
    if left := catalog.lacking(cluster.needs()):
        say(f"demo: still missing after the installation:\n{provide.by_hand(left)}")
        return False
    return True


def up(yes: bool) -> int:
    """Exit status of `make demo`."""
    provide.find_tools()
    state = State.load()
    cluster = clusters.choose(os.environ.get("CONTEXT"), state)
    if state.cluster and state.cluster != cluster.name:
        say(OTHER.format(there=place(state.cluster), here=place(cluster.name)))
        return 2
    built = any((CACHE / "images").glob("*.tar"))
    say(COST.format(cluster=cluster.cost(), images=LATER_IMAGES if built else FIRST_IMAGES))
    if not prepared(cluster, yes):
        return 2
    cluster.start()
    install.claim(cluster, state)
    images = cluster.images()
    install.helm(cluster, images, state)
    run = job.start(cluster, state)
    address = console.open_console(cluster, state)
    finished = job.follow(cluster, run, address)
    proven = job.prove(cluster, run, address)
    console.say_where(cluster, address, run)
    return 0 if finished and proven else 1
