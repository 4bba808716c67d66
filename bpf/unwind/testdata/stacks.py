# Runs in gdb: stops a program again and again, after some instructions or some
# milliseconds, and writes registers, the memory of the stack and gdb's own
# backtrace as lines of JSON to $STACKS_OUT.
import base64, json, os, random, signal, threading, time
import gdb

out = open(os.environ["STACKS_OUT"], "w")
count = int(os.environ["STACKS_COUNT"])
skip = float(os.environ.get("STACKS_SKIP", "0.3"))
random.seed(1)

for command in [
    "set pagination off", "set confirm off", "set debuginfod enabled off", "set auto-load off",
    "set backtrace past-main on", "set backtrace past-entry on", "set backtrace limit 600",
    "set print thread-events off", "set print finish off",
    "handle all nostop noprint pass", "handle SIGINT stop print nopass", "handle SIGTRAP stop nopass",
]:
    gdb.execute(command, to_string=True)

NAMES = ["rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
         "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rip"]
MASK = (1 << 64) - 1
maps_before = None


def mappings(pid):
    with open("/proc/%d/maps" % pid) as f:
        return f.read()


def stack_end(maps, sp):
    for line in maps.splitlines():
        start, end = (int(x, 16) for x in line.split()[0].split("-"))
        if start <= sp < end:
            return start, end
    return sp, sp


def run_for(seconds, command="continue"):
    pid = gdb.selected_inferior().pid
    timer = threading.Timer(seconds, lambda: os.kill(pid, signal.SIGINT))
    timer.start()
    gdb.execute(command, to_string=True)
    timer.cancel()
    timer.join()


def other_stacks(inferior, maps, fp, low, high):
    """Memory around frame pointers that lead to another stack."""
    out = []
    for _ in range(60):
        if not low <= fp < high:
            start, end = stack_end(maps, fp)
            low, high = max(start, fp - 4096), min(end, fp + (64 << 10))
            if fp == 0 or low >= high or len(out) >= 3:
                break
            out.append({"low": low, "stack": base64.b64encode(inferior.read_memory(low, high - low).tobytes()).decode()})
        if fp + 8 > high:
            break
        fp = int.from_bytes(inferior.read_memory(fp, 8).tobytes(), "little")
    return out


def record():
    global maps_before
    inferior = gdb.selected_inferior()
    frame = gdb.newest_frame()
    regs = [int(frame.read_register(n)) & MASK for n in NAMES]
    maps = mappings(inferior.pid)
    sp = regs[7]
    start, end = stack_end(maps, sp)
    low = max(start, sp - 256)
    stack = inferior.read_memory(low, min(end - low, 256 << 10)).tobytes()
    others = other_stacks(inferior, maps, regs[6], low, low + len(stack))
    pcs, names = [], []
    last = frame
    while frame is not None:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            pcs.append(frame.pc())
            names.append(frame.name() or "?")
        last = frame
        try:
            frame = frame.older()
        except gdb.error:
            frame = None
    try:
        insn = gdb.selected_frame().architecture().disassemble(regs[16])[0]["asm"]
    except gdb.error:
        insn = "?"
    line = {"regs": regs, "pcs": pcs, "names": names, "low": low, "insn": insn,
            "stop": gdb.frame_stop_reason_string(last.unwind_stop_reason()),
            "stack": base64.b64encode(stack).decode(), "others": others}
    if maps != maps_before:
        line["maps"] = maps_before = maps
    out.write(json.dumps(line) + "\n")


def used(pid):
    """Seconds of CPU time of a process."""
    with open("/proc/%d/stat" % pid) as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def begin():
    """Runs the program until it has bound its libraries, however busy the machine is."""
    gdb.execute("starti", to_string=True)
    for _ in range(200):
        run_for(skip)
        pid = gdb.selected_inferior().pid
        if not pid or used(pid) >= skip:
            break


def main():
    begin()
    for i in range(count):
        if not gdb.selected_inferior().pid:
            break
        if i % 8 == 0:
            run_for(random.uniform(0.001, 0.004))
        else:
            # Interrupted in the end, as the step may be a system call that waits.
            run_for(0.5, "stepi %d" % random.randint(1, 9))
        if gdb.selected_inferior().pid:
            record()


try:
    main()
except gdb.error as e:
    out.write(json.dumps({"error": str(e)}) + "\n")
out.close()
if gdb.selected_inferior().pid:
    gdb.execute("kill", to_string=True)
