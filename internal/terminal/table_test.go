package terminal_test

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/terminal"
)

func TestTable(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", 63)
	for _, test := range []struct {
		name string
		rows [][]string
		want string
	}{
		{"no rows", nil, ""},
		{
			"what fits", [][]string{{"cp-1", "memory", "8192", "\x1b[31m4096\x1b[m"}},
			"WHAT  PROPERTY  WANTED  FOUND\ncp-1  memory    8192    \x1b[31m4096\x1b[m\n",
		},
		{
			"a sentence in a cell", [][]string{{"cp-1", "configuration machine.sysctls.vm.max_map_count", "as it was given", "something else that is longer"}},
			`WHAT  PROPERTY                          WANTED           FOUND
cp-1  configuration                     as it was given  something else that is
      machine.sysctls.vm.max_map_count                   longer
`,
		},
		{
			"a name of 63 characters", [][]string{{"cp-1", "memory", "8192", "4096"}, {long, "memory of the machine", "8192", "4096"}, {"cp-2", "memory", "8192", "4096"}},
			"WHAT  PROPERTY  WANTED  FOUND\ncp-1  memory    8192    4096\n" +
				long + "\n  PROPERTY  memory of the machine\n  WANTED    8192\n  FOUND     4096\n" +
				"cp-2  memory    8192    4096\n",
		},
		{
			"nothing but names of 63 characters", [][]string{{long, "memory", "", strings.Repeat("word ", 20)}},
			long + "\n  PROPERTY  memory\n  WANTED\n  FOUND     word word word word word word word word word word word word word\n            word word word word word word word\n",
		},
		{
			"a word that does not fit beside its heading", [][]string{{long, "memory", "8192", strings.Repeat("p", 74)}},
			long + "\n  PROPERTY  memory\n  WANTED    8192\n  FOUND\n    " + strings.Repeat("p", 74) + "\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var text strings.Builder
			require.NoError(t, terminal.Table{Header: []string{"WHAT", "PROPERTY", "WANTED", "FOUND"}, Rows: test.rows}.Write(&text))
			require.Equal(t, test.want, text.String())
			for line := range strings.Lines(text.String()) {
				require.LessOrEqual(t, ansi.StringWidth(strings.TrimSuffix(line, "\n")), terminal.Columns)
			}
		})
	}
}
