"""The contract of a bot, for each bot."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.integration.stage.bot_service import SECRET, BotService, bot_service
from waypost.adapters.bots.echo import EchoBot
from waypost.adapters.bots.http import HttpBot
from waypost.adapters.bots.module import ModuleBot
from waypost.adapters.openai.bot import ModelSettings, OpenAiBot
from waypost.adapters.openai.tools import tools_of
from waypost.adapters.reqwest.transport import ReqwestTransport
from waypost.model.turn import Answer, Handover, Turn
from waypost.ports.conversations.bot import Bot, BotFailed
from waypost_testing.contracts.conversations.bot import BotBackendMode, BotContract
from waypost_testing.openai_server import OpenAiServer, ScriptedReply

KEY = "sk-proj/s3cret"
PATIENT, IMPATIENT = 20.0, 0.2


class EchoStage:
    cannot = "an echo always answers"
    secrets = ()

    def __init__(self) -> None:
        self.bot: Bot = EchoBot()
        self.impatient = self.bot

    def be(self, mood: BotBackendMode) -> None:
        raise AssertionError(mood)

    async def reached(self) -> None:
        raise AssertionError


class TestEchoBot(BotContract):
    @pytest.fixture
    def stage(self) -> EchoStage:
        return EchoStage()


class ModuleStage:
    cannot = ""
    secrets = ("hunter22hunter22", "+15550001111")

    def __init__(self) -> None:
        self.bot: Bot = ModuleBot(self.function, history=5, timeout=PATIENT)
        self.impatient: Bot = ModuleBot(self.function, history=5, timeout=IMPATIENT)
        self._mood = BotBackendMode.ECHO
        self._reached = asyncio.Event()

    def be(self, mood: BotBackendMode) -> None:
        self._mood = mood

    async def reached(self) -> None:
        await self._reached.wait()

    async def function(self, turn: Turn) -> Answer:
        match self._mood:
            case BotBackendMode.ECHO:
                return [line.text or f"[{line.type}]" for line in turn.messages]
            case BotBackendMode.HAND_OVER:
                return Handover("wants a person")
            case BotBackendMode.KEEP_SILENT:
                return None
            case BotBackendMode.FAIL_FOR_NOW:
                raise RuntimeError(f"password={self.secrets[0]} for {self.secrets[1]}")
            case BotBackendMode.FAIL_FOR_GOOD:
                raise BotFailed("no such customer", hopeless=True)
            case BotBackendMode.HANG:
                self._reached.set()
                await asyncio.Event().wait()
        raise AssertionError


class TestModuleBot(BotContract):
    @pytest.fixture
    def stage(self) -> ModuleStage:
        return ModuleStage()


class HttpStage:
    cannot = ""
    secrets = (SECRET,)

    def __init__(self, service: BotService, transport: ReqwestTransport) -> None:
        self._service = service
        self.bot: Bot = HttpBot(transport, service.url, SECRET, timeout=PATIENT, history=5)
        self.impatient: Bot = HttpBot(transport, service.url, SECRET, timeout=IMPATIENT, history=5)

    def be(self, mood: BotBackendMode) -> None:
        self._service.hangs = mood is BotBackendMode.HANG
        self._service.answer = None
        match mood:
            case BotBackendMode.HAND_OVER:
                self._service.say(200, {"handover": "wants a person"})
            case BotBackendMode.KEEP_SILENT:
                self._service.say(200, {})
            case BotBackendMode.FAIL_FOR_NOW:
                self._service.say(500, {"error": f"{SECRET} is broken"})
            case BotBackendMode.FAIL_FOR_GOOD:
                self._service.say(422, {"error": f"{SECRET} is broken"})
            case _:
                pass

    async def reached(self) -> None:
        await self._service.asked.wait()


class TestHttpBot(BotContract):
    @pytest.fixture
    async def stage(self) -> AsyncIterator[HttpStage]:
        transport = ReqwestTransport("waypost-test/1")
        async with bot_service() as service:
            yield HttpStage(service, transport)
        await transport.close()


class OpenAiStage:
    cannot = ""
    secrets = (KEY,)

    def __init__(self, server: OpenAiServer) -> None:
        self._server = server
        self.bot: Bot = self._made(PATIENT)
        self.impatient: Bot = self._made(IMPATIENT)

    def _made(self, timeout: float) -> OpenAiBot:
        return OpenAiBot(
            ModelSettings(base_url=self._server.url, api_key=KEY, name="tiny", timeout=timeout), tools_of([])
        )

    def be(self, mood: BotBackendMode) -> None:
        steps = {
            BotBackendMode.ECHO: ScriptedReply(),
            BotBackendMode.HAND_OVER: ScriptedReply(calls=(("hand_over", '{"reason": "wants a person"}'),)),
            BotBackendMode.KEEP_SILENT: ScriptedReply(text=""),
            BotBackendMode.FAIL_FOR_NOW: ScriptedReply(status=500, message=f"{KEY} is broken"),
            BotBackendMode.FAIL_FOR_GOOD: ScriptedReply(status=401, message=f"Incorrect API key provided: {KEY}."),
            BotBackendMode.HANG: ScriptedReply(hang=True),
        }
        self._server.otherwise = steps[mood]

    async def reached(self) -> None:
        await self._server.asked.wait()


class TestOpenAiBot(BotContract):
    @pytest.fixture
    async def stage(self) -> AsyncIterator[OpenAiStage]:
        async with OpenAiServer(key=KEY) as server:
            stage = await asyncio.to_thread(OpenAiStage, server)
            yield stage
            await stage.bot.close()
            await stage.impatient.close()
