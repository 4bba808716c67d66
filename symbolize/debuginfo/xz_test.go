package debuginfo

import (
	"bytes"
	"hash/crc32"
	"math/rand/v2"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pack runs xz, which is part of what `make test` needs.
func pack(t testing.TB, plain []byte, args ...string) []byte {
	t.Helper()
	cmd := exec.Command("xz", append([]string{"-c"}, args...)...)
	cmd.Stdin = bytes.NewReader(plain)
	var out bytes.Buffer
	cmd.Stdout = &out
	require.NoError(t, cmd.Run())
	return out.Bytes()
}

// text is compressible but not trivially so.
func text(n int) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, 0, n+16)
	for len(b) < n {
		b = append(b, strings.Repeat("_ZN4core3fmt", 1+rng.IntN(3))...)
		b = append(b, byte(rng.Uint32()), byte(rng.Uint32()))
	}
	return b[:n]
}

func TestUnpackWhatXZPacks(t *testing.T) {
	t.Parallel()
	tests := map[string][]string{
		"default":              nil,
		"fastest":              {"-0"},
		"largest dictionary":   {"-9e"},
		"no check":             {"--check=none"},
		"crc32":                {"--check=crc32"},
		"sha256":               {"--check=sha256"},
		"several blocks":       {"--block-size=100000"},
		"sizes in the headers": {"-T2", "--block-size=200000"},
		"small dictionary":     {"--lzma2=dict=4KiB,lc=0,lp=2,pb=0"},
	}
	plain := text(700_000)
	noise := make([]byte, 150_000) // stays uncompressed in its chunks
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	for name, args := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, plain := range [][]byte{plain, noise, []byte("x"), {}} {
				got, err := unpack(pack(t, plain, args...), MaxMini)
				require.NoError(t, err)
				assert.True(t, bytes.Equal(plain, got), "%d bytes", len(plain))
			}
		})
	}
}

func TestUnpackRefuses(t *testing.T) {
	t.Parallel()
	good := pack(t, text(100_000))
	change := func(at int, v byte) []byte {
		b := bytes.Clone(good)
		b[at] ^= v
		return b
	}
	tests := map[string]struct {
		in   []byte
		want string
	}{
		"nothing":              {nil, "begins otherwise"},
		"other magic":          {change(1, 1), "begins otherwise"},
		"damaged flags":        {change(7, 1), "damaged stream header"},
		"damaged block header": {change(14, 1), "damaged header"},
		"damaged contents":     {change(60, 1), ""},
		"no index":             {good[:len(good)/2], "unexpected EOF"},
		"another filter":       {pack(t, text(1000), "--x86", "--lzma2"), "other than LZMA2"},
		"too many blocks":      {pack(t, text(100_000), "--block-size=100"), "blocks"},
		"lzma alone":           {pack(t, text(1000), "--format=lzma"), "begins otherwise"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := unpack(tt.in, MaxMini)
			require.ErrorIs(t, err, errXZ)
			assert.ErrorContains(t, err, tt.want)
			assert.Nil(t, got)
		})
	}
	t.Run("each byte that is cut off up to the index", func(t *testing.T) {
		t.Parallel()
		small := pack(t, []byte("hello, hello, hello"))
		for n := range len(small) - 24 { // index and footer
			_, err := unpack(small[:n], 100)
			assert.Error(t, err, "%d bytes", n)
		}
	})
}

// TestBombIsRefusedBeforeItIsUnpacked is not parallel: it looks at what is
// allocated.
func TestBombIsRefusedBeforeItIsUnpacked(t *testing.T) {
	cmd := exec.Command("sh", "-c", "head -c 80M /dev/zero | xz -c -1")
	bomb, err := cmd.Output()
	require.NoError(t, err)
	require.Less(t, len(bomb), 100_000)
	allocated := func(f func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	t.Run("output", func(t *testing.T) {
		n := allocated(func() { _, err = unpack(bomb, MaxMini) })
		require.ErrorIs(t, err, errXZ)
		assert.ErrorContains(t, err, "more than")
		assert.Less(t, n, uint64(1<<20))
	})
	t.Run("dictionary", func(t *testing.T) {
		b := pack(t, []byte("small"))
		// A dictionary of 4 GiB; the checksum of the header says so too.
		size := (int(b[12]) + 1) * 4
		at := bytes.IndexByte(b[12:], 0x21) + 12 + 2
		b[at] = 40
		le.PutUint32(b[12+size-4:], crc32.ChecksumIEEE(b[12:12+size-4]))
		var got []byte
		n := allocated(func() { got, err = unpack(b, MaxMini) })
		require.NoError(t, err)
		assert.Equal(t, "small", string(got))
		assert.Less(t, n, uint64(1<<20))
	})
	t.Run("chunks", func(t *testing.T) {
		b := pack(t, []byte("x"))
		size := (int(b[12]) + 1) * 4
		chunk := []byte{1, 0, 0, 'x'} // uncompressed, one byte
		b = append(b[:12+size:12+size], bytes.Repeat(chunk, 1<<20)...)
		n := allocated(func() { _, err = unpack(append(b, make([]byte, 16)...), MaxMini) })
		require.ErrorIs(t, err, errXZ)
		assert.ErrorContains(t, err, "too many chunks")
		assert.Less(t, n, uint64(8<<20)) // the append above
	})
}

func FuzzUnpack(f *testing.F) {
	for _, args := range [][]string{nil, {"--check=none"}, {"--check=crc32", "--block-size=40"}} {
		f.Add(pack(f, text(200), args...))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		const limit = 1 << 20
		for _, b := range [][]byte{b, repaired(b)} {
			out, err := unpack(b, limit)
			if (err == nil) != (out != nil) || len(out) > limit {
				t.Fatalf("%d bytes and %v", len(out), err)
			}
		}
	})
}

// repaired returns b with checksums of the headers that are right and without
// one of the contents, so that fuzzing gets behind them.
func repaired(b []byte) []byte {
	b = bytes.Clone(b)
	if len(b) < xzHeaderSize+1 {
		return b
	}
	copy(b, "\xfd7zXZ\x00\x00\x00")
	le.PutUint32(b[8:], crc32.ChecksumIEEE(b[6:8]))
	header := b[xzHeaderSize:]
	if n := (int(header[0]) + 1) * 4; n <= len(header) {
		le.PutUint32(header[n-4:], crc32.ChecksumIEEE(header[:n-4]))
	}
	return b
}

func BenchmarkUnpack(b *testing.B) {
	plain := text(8 << 20)
	packed := pack(b, plain)
	b.SetBytes(int64(len(plain)))
	b.ReportAllocs()
	for b.Loop() {
		out, err := unpack(packed, MaxMini)
		if err != nil || len(out) != len(plain) {
			b.Fatal(err)
		}
	}
}
