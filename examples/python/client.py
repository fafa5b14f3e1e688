"""A client of gatehouse with nothing but Python's standard library.

    python3 client.py --server "gatehouse serve" --cwd /path/to/project "Fix the failing test"

It starts a session, polls it, allows what asks and prints the result. A client
for people shows action["summary"] and action["rule"] and asks.
"""

import argparse
import json
import os
import shlex
import subprocess


class Server:
    """An MCP server on a pipe: one JSON-RPC message a line, both ways."""

    def __init__(self, command, cwd):
        self.process = subprocess.Popen(command, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
        self.last_id = 0
        self.request("initialize", {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "gatehouse-example", "version": "1"},
        })
        self.send({"method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def request(self, method, params):
        self.last_id += 1
        self.send({"id": self.last_id, "method": method, "params": params})
        for line in self.process.stdout:
            reply = json.loads(line)
            if reply.get("id") != self.last_id or "method" in reply:
                continue  # a notification
            if "error" in reply:
                raise RuntimeError(reply["error"]["message"])
            return reply["result"]
        raise RuntimeError("the server ended")

    def call_tool(self, name, arguments):
        """Returns the answer's text, which is JSON."""
        result = self.request("tools/call", {"name": name, "arguments": arguments})
        text = result["content"][0]["text"]
        if result.get("isError"):
            raise RuntimeError(json.loads(text)["error"])
        return text

    def close(self):
        self.process.stdin.close()
        return self.process.wait(timeout=20)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("prompt")
    parser.add_argument("--server", default="gatehouse serve", help="command of the MCP server")
    parser.add_argument("--cwd", help="folder of the session")
    parser.add_argument("--wait-ms", type=int, default=20000, help="how long one poll waits for news; 0 answers at once")
    options = parser.parse_args()
    if options.cwd:  # the server is started there, so a relative one would mean another folder
        options.cwd = os.path.abspath(options.cwd)
    mcp = Server(shlex.split(options.server), options.cwd)

    # 1. Start; the session works on while we look.
    start = mcp.call_tool("claude_code", {
        "prompt": options.prompt,
        "cwd": options.cwd,  # None is as good as not there
        "allowedTools": ["Read", "Edit", "Glob", "Grep"],
    })
    session_id = json.loads(start)["sessionId"]
    cursor = None

    # 2. Poll until it rests.
    while True:
        poll = {"action": "poll", "sessionId": session_id, "cursor": cursor}
        if options.wait_ms:
            poll["waitMs"] = options.wait_ms
        data = json.loads(mcp.call_tool("claude_code_check", poll))
        cursor = data.get("nextCursor", cursor)

        for action in data.get("actions", []) or []:
            if action.get("type") == "permission":
                print("allow:", action["summary"], f"({action['rule']})")
                mcp.call_tool("claude_code_check", {
                    "action": "respond_permission",
                    "sessionId": session_id,
                    "requestId": action["requestId"],
                    "decision": "allow",
                })

        if data.get("status") in ["idle", "error", "cancelled"]:
            print("status:", data["status"])
            print("result:", (data.get("result") or {}).get("result"))
            break

    # 3. What the server has.
    for session in json.loads(mcp.call_tool("claude_code_session", {"action": "list"}))["sessions"]:
        print("session:", session["sessionId"], session["status"])
    return mcp.close()


if __name__ == "__main__":
    raise SystemExit(main())
