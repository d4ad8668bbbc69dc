package retention_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/retention"
)

func TestExcess(t *testing.T) {
	t.Parallel()
	kind := func(name string) string { return name[:1] }
	for _, test := range []struct {
		name        string
		all, goAway string
		keep        int
	}{
		{name: "nothing is there", keep: 2},
		{name: "of each kind", all: "p9 p8 p7 u6 p5 u4 u3 d2", goAway: "p7 p5 u3", keep: 2},
		{name: "what is seldom stays", all: "p9 p8 p7 p6 p5 p4 p3 u1", goAway: "p8 p7 p6 p5 p4 p3", keep: 1},
		{name: "by default", all: strings.Repeat("p1 ", retention.Default) + "p0", goAway: "p0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.goAway, strings.Join(retention.Excess(strings.Fields(test.all), kind, test.keep), " "))
		})
	}
}
