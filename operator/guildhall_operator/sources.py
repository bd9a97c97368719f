"""Is a Run's source one that can be had, and is the fetcher's way to it the only one open? Pure.

Guards against a fetch pod whose network nobody narrowed, and against a minute spent on what the address says at once.
"""

from guildhall_contracts.fetch import FetchedSource, parse_git_url
from guildhall_contracts.run import GitSource, RunSpec
from pydantic import ValidationError

from guildhall_operator.config import Config
from guildhall_operator.decision import Decision
from guildhall_operator.isolation import PodLabels, Verdict, evaluate_fetch
from guildhall_operator.manifests.fetch import planned_fetch_labels
from guildhall_operator.records import Json, PodRecord


def _git_problem(git: GitSource, config: Config) -> str:
    if config.fetcher is None:
        return "spec.workspace.git: this installation has no fetcher (chart value images.fetcher)"
    url = parse_git_url(git.url)
    if isinstance(url, str):
        return f"spec.workspace.git.url {url}"
    if url.scheme not in config.fetcher.schemes:
        allowed = ", ".join(f"{scheme}://" for scheme in config.fetcher.schemes)
        return f"spec.workspace.git.url: {url.scheme}:// is not allowed here (chart value fetcher.schemes: {allowed})"
    if url.scheme == "ssh" and git.secret_ref is None:
        return (
            "spec.workspace.git: ssh:// needs a Secret with host, ssh-privatekey and known_hosts; name it in secretRef"
        )
    if url.scheme == "git" and git.secret_ref is not None:
        return "spec.workspace.git: git:// sends everything in the clear, so no Secret is used with it; write https://"
    return ""


def workspace_problem(spec: RunSpec, config: Config) -> str:
    """What is wrong with the workspace a Run asks for; empty where nothing is."""
    workspace = spec.workspace
    if workspace is None:
        return ""
    sources = [name for name in ("git", "claim", "archive", "template") if getattr(workspace, name) is not None]
    if len(sources) > 1:
        return f"spec.workspace names {' and '.join(sources)}; name one source"
    return _git_problem(workspace.git, config) if workspace.git is not None else ""


def git_verdict(decision: Decision, planned: dict[str, str], pod: PodRecord | None = None) -> Verdict:
    """What the namespace's policies let a pod with git's egress do: one that exists, or one labelled `planned`."""
    config = decision.observed.config
    policy = config.fetcher.network_policy if config.fetcher else ""
    labels = PodLabels(planned) if pod is None else PodLabels(pod.labels, exists=True)
    return evaluate_fetch(decision.observed.policies, labels, policy)


def fetch_verdict(decision: Decision, number: int, pod: PodRecord | None = None) -> Verdict:
    """The same for the fetch pod of that number."""
    return git_verdict(decision, planned_fetch_labels(decision.run, number), pod)


def left_out(source: FetchedSource) -> str:
    """What is not in the workspace although the repository names it; empty where nothing is missing."""
    found = []
    for count, paths, what in (
        (source.submodules, source.submodule_paths, "submodule(s) not fetched"),
        (source.lfs_files, source.lfs_paths, "Git LFS pointer(s) whose content was not downloaded"),
    ):
        if count:
            more = ", …" if count > len(paths) else ""
            found.append(f"{count} {what}: {', '.join(paths)}{more}" if paths else f"{count} {what}")
    return "; ".join(found)


def source_text(status_source: Json) -> str:
    """The commit for people, from what the status holds; empty where there is none."""
    try:
        source = FetchedSource.model_validate(status_source)
    except ValidationError:
        return ""
    missing = left_out(source)
    return f"commit {source.commit}{f' of {source.ref}' if source.ref else ''}{f'; {missing}' if missing else ''}"
