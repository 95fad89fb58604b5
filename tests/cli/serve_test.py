#!/usr/bin/env python3
"""`dfsearch serve`: what it lists and shows, and what it refuses.

usage: serve_test.py DFSEARCH [unittest arguments]
"""

import concurrent.futures
import html.parser
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import time

from study_case import STUDY
from support import SMALL, CliTest, main

PRIVATE = "nobody may read this"


class Links(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.addresses, self.words, self.void = [], [], 0
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag == "a":
            self.addresses.append(dict(attributes)["href"])

    def handle_data(self, data):
        self.words.append(data)


class Serve(CliTest):
    def setUp(self):
        super().setUp()
        built = "without cpp-httplib" not in self.run_tool("serve", "none", status=2).stderr
        if not built and not os.environ.get("CI"):
            self.skipTest("built without cpp-httplib")
        self.root = self.folder / "root"
        self.root.mkdir()
        self.write("private.json", json.dumps({"dfsearch": PRIVATE}))
        self.write("root2.txt", PRIVATE)

    def start(self, *words, folder="root"):
        self.server = subprocess.Popen(self.command("serve", folder, *words), cwd=self.folder,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end)
        line = self.server.stdout.readline()
        self.port = int(re.match(r"http://127\.0\.0\.1:(\d+)/ ", line)[1])

    def end(self):
        if self.server.poll() is None:
            self.server.kill()
        self.server.communicate()

    def ask(self, target, method="GET", status=200, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.putrequest(method, target, skip_host=True)
        headers.setdefault("Host", f"127.0.0.1:{self.port}")
        for name, value in headers.items():
            if value is not None:
                connection.putheader(name.replace("_", "-"), value)
        connection.endheaders()
        reply = connection.getresponse()
        body = reply.read().decode()
        connection.close()
        self.assertEqual(reply.status, status, (target, body[:200]))
        self.assertNotIn(PRIVATE, body)
        return reply, body

    def raw(self, data):
        """Whatever comes back."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as client:
            client.sendall(data)
            got = b""
            while piece := client.recv(65536):
                got += piece
        self.assertNotIn(PRIVATE.encode(), got)
        return got

    def fill(self):
        self.write("small.yaml", SMALL)
        self.run_tool("small.yaml", "--quiet", "--json", "root/r.json", "--html", "root/page.html")
        self.write("study.yaml", STUDY)
        self.run_tool("study", "study.yaml", "-o", "root/deep/study", "--quiet")
        (self.root / "a <b> & \"c\".json").write_text("{}")

    def test_results_pages_and_studies_are_listed_and_shown(self):
        self.fill()
        self.start()
        reply, body = self.ask("/")
        self.assertIn("text/html", reply.getheader("Content-Type"))
        result = json.loads((self.root / "r.json").read_text())
        self.assertIn(f"result, {result['status']}, step ", body)
        links = Links(body)
        self.assertIn("a <b> & \"c\".json", links.words)
        self.assertIn("/a%20%3Cb%3E%20%26%20%22c%22.json", links.addresses)
        self.assertLess(links.addresses.index("/deep/"), links.addresses.index("/r.json"))
        self.assertIn("study, ", self.ask("/deep/")[1])
        # Every link of every list leads somewhere, and back.
        seen, waiting = set(), ["/"]
        while waiting:
            address = waiting.pop()
            if address in seen:
                continue
            seen.add(address)
            if address.endswith("/"):
                waiting += Links(self.ask(address)[1]).addresses
            else:
                self.ask(address)
        self.assertTrue({"/", "/deep/", "/deep/study/", "/deep/study/study.json",
                         "/deep/study/results.csv", "/page.html"} <= seen)
        # The page of a result is that of `report`, but for the picture of the graph.
        page = self.ask("/r.json")[1]
        self.run_tool("report", "root/r.json", "-o", "report.html")
        data = [json.loads(text[text.index('id="data">') + 10:].split("</script>")[0])
                for text in (page, (self.folder / "report.html").read_text())]
        self.assertEqual(data[0]["result"], data[1]["result"])
        self.assertEqual(data[0]["title"], data[1]["title"])
        study = (self.root / "deep/study/study.html").read_text()
        self.assertEqual(self.ask("/deep/study/study.json")[1], study)
        self.assertEqual(self.ask("/deep/study/study.html")[1], study)
        self.assertEqual(json.loads(self.ask("/r.json?raw")[1]), result)
        self.assertEqual(self.ask("/page.html")[1], (self.root / "page.html").read_text())
        head, body = self.ask("/r.json", "HEAD")
        self.assertEqual((head.getheader("Content-Length"), body), (str(len(page.encode())), ""))
        # What is new is there at once.
        (self.root / "new.json").write_text(json.dumps(result))
        self.assertIn("/new.json", Links(self.ask("/")[1]).addresses)
        # A study that was stopped has no front yet.
        (self.root / "deep/study/front.json").unlink()
        self.assertIn("<!doctype html>", self.ask("/deep/study/study.json")[1])

    def test_broken_results_are_told_and_do_no_harm(self):
        self.start()
        for name, text, status in (("cut.json", '{"dfsearch": "1", "sta', 200),
                                   ("none.json", '{"dfsearch": "1", "status": "optimal"}', 422),
                                   ("study.json", '{"dfsearch": "1", "study": "s", "solved": 1, '
                                                  '"points": 1, "complete": true}', 422),
                                   ("deep.json", '{"a":' * 100000, 200), ("empty.json", "", 200)):
            (self.root / name).write_text(text)
            self.ask("/")
            self.ask("/" + name, status=status)
        os.mkfifo(self.root / "pipe.json")
        self.ask("/pipe.json", status=404)
        self.assertNotIn("/pipe.json", Links(self.ask("/")[1]).addresses)
        (self.root / os.fsdecode(b"\xff\x1b[31m.json")).write_text("{}")
        self.assertIn("/%FF%1B%5B31m.json", Links(self.ask("/")[1]).addresses)
        self.ask("/%FF%1B%5B31m.json")

    def test_nothing_outside_of_the_folder_is_read(self):
        (self.root / "in").mkdir()
        (self.root / "in" / "a.json").write_text("[1]")
        (self.root / ".hidden.json").write_text(json.dumps(PRIVATE))
        (self.root / "secret").write_text(PRIVATE)  # of no kind that is shown
        os.symlink(self.folder / "private.json", self.root / "out.json")
        os.symlink("../private.json", self.root / "up.json")
        os.symlink(self.folder, self.root / "outside")
        os.symlink("in", self.root / "inner")
        os.symlink("loop.json", self.root / "loop.json")
        self.start()
        self.assertEqual(Links(self.ask("/")[1]).addresses, ["/in/", "/inner/"])
        self.assertEqual(self.ask("/inner/a.json")[1], "[1]")
        for target in ("/../private.json", "/in/../../private.json", "/%2e%2e/private.json",
                       "/%2E%2E%2Fprivate.json", "/..%2fprivate.json", "/in/..%2f..%2fprivate.json",
                       "/%252e%252e/private.json", "/..\\private.json", "/..%5cprivate.json",
                       "/in/%2e%2e/in/a.json", "/./in/a.json", "//in/a.json", "/in//a.json",
                       "/..;/private.json", "/%c0%ae%c0%ae/private.json", "/../root2.txt",
                       f"/{self.folder}/private.json", f"/%2f{self.folder}/private.json",
                       "/out.json", "/up.json", "/outside/", "/outside/private.json", "/loop.json",
                       "/in/a.json%00.html", "/%00", "/in%00/a.json", "/.hidden.json", "/secret",
                       "/none.json", "/in/a.json/", "/in/a.json/b", "/proc/self/environ", "/%"):
            with self.subTest(target):
                status = 200 if target == "/in/a.json/" else 404
                self.ask(target, status=status)
        # What leads out once it is listed is not read either.
        (self.root / "in" / "a.json").unlink()
        os.symlink(self.folder / "private.json", self.root / "in" / "a.json")
        self.ask("/in/a.json", status=404)

    def test_requests_that_are_none(self):
        (self.root / "a.json").write_text("[1]")
        self.start()
        host = f"Host: 127.0.0.1:{self.port}\r\n".encode()
        for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"):
            reply = self.ask("/a.json", method, status=405)[0]
            self.assertEqual(reply.getheader("Allow"), "GET, HEAD")
        with_body = self.raw(b"POST /a.json HTTP/1.1\r\n" + host + b"Content-Length: 60\r\n\r\n"
                             b"GET /a.json HTTP/1.1\r\n" + host + b"\r\n")
        self.assertEqual(with_body.count(b"HTTP/1.1"), 1)
        self.assertIn(b" 405 ", with_body)
        for data in (b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n" + host + b"\r\n",
                     b"GET /a.json HTTP/1.1\r\n" + host + b"X: " + b"a" * 100000 + b"\r\n\r\n",
                     b"\x00\xff\x16\x03\x01" * 100 + b"\r\n\r\n", b"GET\r\n\r\n", b"\r\n\r\n",
                     b"GET http://evil.example/a.json HTTP/1.1\r\n" + host + b"\r\n",
                     b"GET a.json HTTP/1.1\r\n" + host + b"\r\n",
                     b"GET /a\x00.json HTTP/1.1\r\n" + host + b"\r\n",
                     b"EVIL /a.json HTTP/1.1\r\n" + host + b"\r\n"):
            with self.subTest(data[:40]):
                try:
                    got = self.raw(data)
                except (ConnectionResetError, BrokenPipeError):
                    got = b""
                self.assertNotIn(b" 200 ", got.split(b"\r\n")[0])
        self.assertEqual(self.ask("/a.json")[1], "[1]")

    def test_names_of_other_hosts_are_refused(self):
        (self.root / "a.json").write_text("[1]")
        self.start()
        for host in ("evil.example", f"evil.example:{self.port}", "127.0.0.1", "localhost",
                     f"127.0.0.1.evil.example:{self.port}", f"localhost:{self.port + 1}",
                     f"127.0.0.1:{self.port}@evil.example", "", None):
            with self.subTest(host):
                self.ask("/a.json", status=403, Host=host)
        own = f"Host: 127.0.0.1:{self.port}\r\n"
        two = f"GET /a.json HTTP/1.1\r\n{own}Host: evil.example\r\n\r\n"
        self.assertIn(b" 403 ", self.raw(two.encode()))
        reply, body = self.ask("/a.json", Host=f"localhost:{self.port}")
        self.assertEqual(body, "[1]")
        policy = reply.getheader("Content-Security-Policy")
        self.assertIn("default-src 'none'", policy)
        self.assertIn("frame-ancestors 'none'", policy)
        for name, value in (("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"),
                            ("Referrer-Policy", "no-referrer"), ("Cache-Control", "no-store"),
                            ("Cross-Origin-Resource-Policy", "same-origin")):
            self.assertEqual(reply.getheader(name), value)
        self.assertIsNone(reply.getheader("Access-Control-Allow-Origin"))
        # It listens on the loopback address alone.
        with open("/proc/net/tcp") as table:
            listens = [line.split()[1] for line in table if line.split()[3] == "0A"]
        mine = [address for address in listens if address.endswith(f":{self.port:04X}")]
        self.assertEqual(mine, [f"0100007F:{self.port:04X}"])

    def test_slow_clients_and_many_connections(self):
        (self.root / "a.json").write_text("[1]")
        self.start()
        slow = [socket.create_connection(("127.0.0.1", self.port)) for _ in range(20)]
        for client in slow:
            client.sendall(b"GET /a.js")
        start = time.monotonic()
        self.assertEqual(self.ask("/a.json")[1], "[1]")
        self.assertLess(time.monotonic() - start, 4)
        # They are sent away soon.
        for client in slow:
            client.settimeout(15)
            self.assertNotIn(b" 200 ", client.recv(1000))
            client.close()
        with concurrent.futures.ThreadPoolExecutor(40) as pool:
            bodies = list(pool.map(lambda _: self.ask("/a.json")[1], range(400)))
        self.assertEqual(set(bodies), {"[1]"})

    def test_the_end(self):
        for sent in (signal.SIGINT, signal.SIGTERM):
            self.start()
            client = socket.create_connection(("127.0.0.1", self.port))
            client.sendall(b"GET / HT")
            start = time.monotonic()
            self.server.send_signal(sent)
            output, error = self.server.communicate(timeout=20)
            self.assertEqual((self.server.returncode, output, error), (0, "", ""))
            self.assertLess(time.monotonic() - start, 15)
            client.close()

    def test_ports_and_folders(self):
        self.start()
        taken = self.run_tool("serve", "root", "--port", str(self.port), status=2).stderr
        self.assertIn(f"--port: {self.port} cannot be had", taken)
        for words, message in ((["none"], "none: there is no such folder"),
                               (["root2.txt"], "root2.txt: there is no such folder"),
                               (["root", "--port", "65536"], "--port"),
                               (["root", "--port", "-1"], "--port"),
                               (["root", "more"], "one folder is enough")):
            self.assertIn(message, self.run_tool("serve", *words, status=2).stderr)


if __name__ == "__main__":
    main()
