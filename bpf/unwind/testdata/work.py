import hashlib, json, re, zlib


def work(n):
    rows = [{"name": "row %d" % i, "value": [i * 1.5, None, True]} for i in range(n)]
    text = json.dumps(sorted(rows, key=lambda r: -r["value"][0]))
    back = json.loads(text)
    return re.sub(r"(\w+) (\d+)", r"\2", text), zlib.compress(text.encode()), hashlib.sha512(text.encode()), back


while True:
    work(300)
