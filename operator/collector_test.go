package operator_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator"
)

func TestRelaxCollector(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		nodes int
		own   map[string]string
		want  map[string]string
	}{
		{"a small cluster", 10, nil, map[string]string{"GOGC": "400"}},
		{"a large one", 11, nil, map[string]string{}},
		{"the user's own value", 3, map[string]string{"GOGC": "50"}, map[string]string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			env := map[string]string{}
			operator.RelaxCollector(env, c.nodes, func(name string) (string, bool) {
				value, found := c.own[name]
				return value, found
			})
			require.Equal(t, c.want, env)
		})
	}
}
