package e2e_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// shellOfLabEnv runs lines in a shell that has evaluated what `em-infra lab env` prints, and that had neither em-infra nor
// anything of the rehearsal before, as a person's.
func (r *rehearsal) shellOfLabEnv(lines string) string {
	r.t.Helper()
	path, err := tool()
	require.NoError(r.t, err)
	ctx, cancel := context.WithTimeout(r.t.Context(), 20*time.Minute) // the first one may build the language host and the program
	defer cancel()
	shell := exec.CommandContext(ctx, "sh", "-euc", `eval "$("$TOOL" lab env --stack "$STACK" --inventory "$INVENTORY")"
`+lines)
	shell.Dir = r.root
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); name != "EM_INFRA" && !strings.HasPrefix(name, "PULUMI_") {
			shell.Env = append(shell.Env, entry)
		}
	}
	shell.Env = append(shell.Env, "TOOL="+path, "STACK="+r.stack, "INVENTORY="+r.inventory)
	started := time.Now()
	output, err := shell.CombinedOutput()
	require.NoError(r.t, err, "%s\n%s", lines, output)
	r.t.Logf("%s: %s", lines, time.Since(started).Round(100*time.Millisecond))
	return string(output)
}
