package svg

import (
	"math"
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
				d := distance(linear(t, color(a)).times(m), linear(t, color(b)).times(m))
				assert.GreaterOrEqual(t, d, 25.0, "%s: %s and %s", name, a, b)
			}
		}
	}
}

func TestLabelsHaveContrast(t *testing.T) {
	text := linear(t, "#101418").luminance()
	for _, k := range legendKinds() {
		ratio := (linear(t, color(k)).luminance() + 0.05) / (text + 0.05)
		assert.GreaterOrEqual(t, ratio, 4.5, k.String())
	}
}
