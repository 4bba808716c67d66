# outer calls middle, middle calls inner, which sorts, hashes and packs.
import hashlib, re, signal, zlib
signal.alarm(300)
def inner():
    v = sorted((i * 7919 % 10007 for i in range(2000)), key=lambda x: -x)
    text = repr(v).encode()
    return len(zlib.compress(text)) + hashlib.sha256(text * 10).digest()[0] + len(re.findall(rb'[0-9]+1', text))
def middle(): return inner() + 1
def outer(): return middle() + 1
while True: outer()
