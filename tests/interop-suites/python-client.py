"""A client that is not ours and not Node's: lists the tools of a server, calls two, and says what it saw as JSON."""
import asyncio
import json
import sys

from mcp import Client
from mcp import types


async def main(url: str, mode: str) -> None:
    progress = []
    asked = []

    async def told(done, total, message):
        progress.append(message)

    async def elicit(context, params):
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"answer": "yes"})

    async with Client(url, mode=mode, elicitation_callback=elicit) as client:
        tools = await client.list_tools()
        greeted = await client.call_tool("greet", {"name": "Ann"}, progress_callback=told)
        answered = await client.call_tool("confirm_delete", {"filename": "a.txt"})
        wrong = await client.call_tool("greet", {"nome": "Ann"})
        print(
            json.dumps(
                {
                    "version": client.protocol_version,
                    "tools": [tool.name for tool in tools.tools],
                    "greeted": greeted.content[0].text,
                    "status": (greeted.meta or {}).get("coxswain/status"),
                    "progress": progress,
                    "asked": asked,
                    "answered": answered.content[0].text,
                    "wrong": [wrong.is_error, wrong.content[0].text],
                }
            )
        )


asyncio.run(main(sys.argv[1], sys.argv[2]))
