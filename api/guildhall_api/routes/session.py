"""Signing in and out. A cookie is set only here."""

import time
from datetime import UTC, datetime

from fastapi import APIRouter, Request, Response
from guildhall_contracts.api import Session, SignIn

from guildhall_api.auth import COOKIE, SignedIn
from guildhall_api.routes.answers import refusals
from guildhall_api.services import services_of

router = APIRouter(tags=["session"])


def _session(signed_in: SignedIn) -> Session:
    expires_at = datetime.fromtimestamp(signed_in.expires_at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return Session(user=signed_in.person.user, expires_at=expires_at)


@router.get("/api/session", responses=refusals(), response_model_exclude_none=True)
async def get_session(request: Request) -> Session:
    """Who is signed in."""
    auth = services_of(request).auth
    person = await auth.person(request)
    session = auth.session(request)
    return _session(session) if session is not None else Session(user=person.user)


@router.post("/api/session", responses=refusals(429, 503), response_model_exclude_none=True)
async def sign_in(request: Request, response: Response, body: SignIn) -> Session:
    """Sign in with a token the cluster accepts; the answer sets the session's cookie."""
    services = services_of(request)
    signed_in = await services.auth.sign_in(body.token, request)
    response.set_cookie(
        COOKIE, signed_in.secret, max_age=max(1, int(signed_in.expires_at - time.time())), path="/",
        secure=services.config.cookie_secure, httponly=True, samesite="strict",
    )  # fmt: skip
    return _session(signed_in)


@router.delete("/api/session", status_code=204)
async def sign_out(request: Request, response: Response) -> None:
    """Sign out: the session ends, the cookie goes."""
    services = services_of(request)
    services.auth.sign_out(request)
    response.delete_cookie(COOKIE, path="/", secure=services.config.cookie_secure, httponly=True, samesite="strict")
