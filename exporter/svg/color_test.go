package svg

import (
	"math"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type rgb [3]float64 // linear light, 0 to 1

func linear(t *testing.T, hex string) rgb {
	t.Helper()
	var c rgb
	for i := range c {
		v, err := strconv.ParseUint(hex[1+2*i:3+2*i], 16, 8)
		require.NoError(t, err)
		s := float64(v) / 255
		if s <= 0.04045 {
			c[i] = s / 12.92
		} else {
			c[i] = math.Pow((s+0.055)/1.055, 2.4)
		}
	}
	return c
}

func (c rgb) times(m [3][3]float64) rgb {
	var out rgb
	for i := range m {
		for j := range m[i] {
			out[i] += m[i][j] * c[j]
		}
		out[i] = min(1, max(0, out[i]))
	}
	return out
}

func (c rgb) luminance() float64 { return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2] }

// lab converts to CIE L*a*b* under D65.
func (c rgb) lab() [3]float64 {
	xyz := [3]float64{
		(0.4124564*c[0] + 0.3575761*c[1] + 0.1804375*c[2]) / 0.95047,
		0.2126729*c[0] + 0.7151522*c[1] + 0.0721750*c[2],
		(0.0193339*c[0] + 0.1191920*c[1] + 0.9503041*c[2]) / 1.08883,
	}
	for i, v := range xyz {
		if v > 216.0/24389 {
			xyz[i] = math.Cbrt(v)
		} else {
			xyz[i] = (24389.0/27*v + 16) / 116
		}
	}
	return [3]float64{116*xyz[1] - 16, 500 * (xyz[0] - xyz[1]), 200 * (xyz[1] - xyz[2])}
}

func distance(a, b rgb) float64 {
	x, y := a.lab(), b.lab()
	return math.Hypot(math.Hypot(x[0]-y[0], x[1]-y[1]), x[2]-y[2])
}

// Colour vision deficiencies of full severity: Machado, Oliveira and Fernandes,
// A Physiologically-based Model for Simulation of Color Vision Deficiency, 2009.
func deficiencies() map[string][3][3]float64 {
	return map[string][3][3]float64{
		"none":   {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
		"protan": {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
		"deutan": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
		"tritan": {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
	}
}

func TestKindsAreToldApartByEveryReader(t *testing.T) {
	for name, m := range deficiencies() {
		for i, a := range legendKinds() {
			for _, b := range legendKinds()[i+1:] {
				for _, x := range shades(a) {
					for _, y := range shades(b) {
						d := distance(linear(t, x).times(m), linear(t, y).times(m))
						assert.GreaterOrEqual(t, d, 25.0, "%s: %s %s and %s %s", name, a, x, b, y)
					}
				}
			}
		}
	}
}

func TestMoreIsToldFromLessByEveryReader(t *testing.T) {
	for name, m := range deficiencies() {
		for scheme, s := range schemes() {
			for i, more := range s.More {
				for j, less := range s.Less {
					d := distance(linear(t, more).times(m), linear(t, less).times(m))
					assert.GreaterOrEqual(t, d, 15.0, "%s, %s: %s and %s", name, scheme, more, less)
					if i < 2 && j < 2 {
						assert.GreaterOrEqual(t, d, 25.0, "%s, %s: %s and %s", name, scheme, more, less)
					}
				}
			}
		}
	}
}

// frameColors are all colours that a frame can have, on the light page and, by
// the style sheet, on the dark one.
func frameColors() []string {
	out := append([]string{colorGroup, colorSmall, colorMatch, colorOther, colorSame}, palette()...)
	for _, k := range legendKinds() {
		out = append(out, shades(k)...)
	}
	for _, s := range heat() {
		out = append(out, s.Color)
	}
	for _, s := range schemes() {
		out = append(append(out, s.More[:]...), s.Less[:]...)
	}
	for _, rule := range regexp.MustCompile(`R rect\[fill="(#\w+)"\]\{fill:(#\w+)\}`).FindAllStringSubmatch(darkRules, -1) {
		out = append(out, rule[2])
	}
	return out
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := linear(t, a).luminance()+0.05, linear(t, b).luminance()+0.05
	return max(x, y) / min(x, y)
}

func TestLabelsHaveContrast(t *testing.T) {
	for _, c := range frameColors() {
		assert.GreaterOrEqual(t, contrast(t, c, colorText), 4.5, c)
	}
}

func TestTextHasContrastOnBothPages(t *testing.T) {
	for _, c := range []string{ink, inkSoft, inkFaint, inkWarn, inkLink} {
		assert.GreaterOrEqual(t, contrast(t, c, "#ffffff"), 4.5, c)
		what := `fill="` + c + `"`
		if c == inkLink {
			what = `data-ft=crumb`
		}
		dark := regexp.MustCompile(`R \[` + what + `\]\{fill:(#\w+)\}`).FindStringSubmatch(darkRules)
		require.NotNil(t, dark, c)
		assert.GreaterOrEqual(t, contrast(t, dark[1], "#14181d"), 4.5, dark[1])
	}
}

func TestShadesDifferByAFewPercentOfLightness(t *testing.T) {
	for _, k := range legendKinds() {
		all := shades(k)
		light := math.Abs(linear(t, all[len(all)-1]).lab()[0] - linear(t, all[0]).lab()[0])
		assert.Greater(t, light, 1.0, k.String())
		assert.LessOrEqual(t, light, 8.0, k.String())
	}
	assert.Equal(t, shadeOf("main"), shadeOf("main"))
	used := map[int]bool{}
	for _, name := range []string{"main", "read", "write", "poll", "sort", "\U0001f468"} {
		used[shadeOf(name)] = true
	}
	assert.Greater(t, len(used), 1)
}
