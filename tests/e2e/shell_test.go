package e2e_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"github.com/stretchr/testify/require"
)

// shellOfLabEnv runs lines in a shell that has evaluated what `em-infra lab env` prints. Before that, like the shell of a user, it had neither
// em-infra nor anything of the rehearsal.
func (r *rehearsal) shellOfLabEnv(lines string) string {
	r.t.Helper()
	path, err := workshop.Tool()
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

// requireDocumented checks a JSON result against the schema of its command, schemas/output.
func (r *rehearsal) requireDocumented(args []string, output string) {
	r.t.Helper()
	at := slices.Index(args, "--output")
	start := strings.IndexAny(output, "{[")
	if at < 0 || args[at+1] != "json" || start < 0 {
		return
	}
	var value any
	require.NoError(r.t, json.NewDecoder(strings.NewReader(output[start:])).Decode(&value), "%s", output)
	first := slices.IndexFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "-") })
	file := filepath.Join(projectRoot(r.t), "schemas", "output", strings.Join(args[:first], "-")+".schema.json")
	schema, err := jsonschema.Compile(file)
	require.NoError(r.t, err)
	require.NoError(r.t, schema.Validate(value), "%s", output)
}
