package confighelp

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/confmap"
)

type inner struct {
	MinDuration int `mapstructure:"min_duration"`
}

type config struct {
	PageFaults configoptional.Optional[inner] `mapstructure:"page_faults"`
	Targets    inner                          `mapstructure:"targets"`
	List       []string                       `mapstructure:"list"`
}

// Unmarshal is how components use it.
func (c *config) Unmarshal(conf *confmap.Conf) error { return Unmarshal(conf, c) }

func TestKeysThatDoNotExist(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		given map[string]any
		want  string
	}{
		"nearest": {map[string]any{"page_fault": nil}, "has invalid keys: page_fault; did you mean page_faults?"},
		"inside":  {map[string]any{"page_faults": map[string]any{"min_duraton": 1}}, "did you mean min_duration?"},
		"two":     {map[string]any{"page_fault": nil, "lists": nil}, "did you mean list instead of lists, page_faults instead of page_fault?"},
		"none":    {map[string]any{"colour": 1}, "has invalid keys: colour"},
	} {
		err := confmap.NewFromStringMap(test.given).Unmarshal(&config{})
		require.Error(t, err, name)
		assert.True(t, strings.HasSuffix(err.Error(), test.want), "%s: %v", name, err)
	}
	var c config
	require.NoError(t, confmap.NewFromStringMap(map[string]any{"page_faults": map[string]any{"min_duration": 3}}).Unmarshal(&c))
	assert.Equal(t, 3, c.PageFaults.Get().MinDuration)
}

func TestEachProblemNamesItsComponent(t *testing.T) {
	t.Parallel()
	of := component.MustNewType("flamegraph")
	require.NoError(t, All(of, nil, nil))
	one, two := errors.New("a: wrong"), errors.New("b: wrong")
	assert.EqualError(t, All(of, nil, one), "a: wrong")
	err := All(of, one, errors.Join(two, one))
	assert.EqualError(t, err, "a: wrong\nflamegraph: b: wrong\nflamegraph: a: wrong")
	assert.ErrorIs(t, err, two)
}
