package terminal_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/terminal"
)

func TestFold(t *testing.T) {
	t.Parallel()
	const installer = "factory.talos.dev/nocloud-installer/376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba:v1.12.4"
	for _, test := range []struct{ name, line, want string }{
		{"what fits", " ok    token has what the plan needs", " ok    token has what the plan needs"},
		{
			"a sentence", "etcd of the cluster is lost; an empty one is made with the same keys, and the addons are installed anew",
			"etcd of the cluster is lost; an empty one is made with the same keys, and the\n  addons are installed anew",
		},
		{
			"a label", "  meaning        another task holds VM 102, or held it when the host went down in the middle of that",
			"  meaning        another task holds VM 102, or held it when the host went down\n                 in the middle of that",
		},
		{
			"a mark", "       → free space, or set diskStorage or diskGiB of the nodes that are to be made there",
			"       → free space, or set diskStorage or diskGiB of the nodes that are to be\n         made there",
		},
		{
			"a command in backquotes stays whole", "the lab of k3s-dev is stopped, and everything is kept; `em-infra lab start --stack k3s-dev` brings it back",
			"the lab of k3s-dev is stopped, and everything is kept;\n  `em-infra lab start --stack k3s-dev` brings it back",
		},
		{
			"a command that no line can hold", "image         cp-1 runs another: `talosctl -n 192.168.20.11 upgrade --preserve --wait --debug --timeout 30m --stage` does",
			"image         cp-1 runs another:\n              `talosctl -n 192.168.20.11 upgrade --preserve --wait --debug \\\n                --timeout 30m --stage` does",
		},
		{
			"a command on its own", "  kubectl --kubeconfig .lab/k3s-dev/credentials/kubeconfig get nodes --output wide --watch",
			"  kubectl --kubeconfig .lab/k3s-dev/credentials/kubeconfig get nodes --output \\\n      wide --watch",
		},
		{
			"commands in a row", "next: em-infra status --stack k3s-dev --inventory stacks/k3s-dev · em-infra destroy --stack k3s-dev",
			"next: em-infra status --stack k3s-dev --inventory stacks/k3s-dev ·\n  em-infra destroy --stack k3s-dev",
		},
		{
			"quotes of a shell", "→ pulumi config set --stack k3s-dev --secret em-infra:proxmoxToken 'terraform@pve!em-infra=SECRET AND MORE'",
			"→ pulumi config set --stack k3s-dev --secret em-infra:proxmoxToken \\\n    'terraform@pve!em-infra=SECRET AND MORE'",
		},
		{
			"a sentence in backquotes is no command", "it said `the disk of this machine is not large enough for what the image wants to write on it` twice",
			"it said `the disk of this machine is not large enough for what the image wants\n  to write on it` twice",
		},
		{"a word that no line can hold", "image " + installer + " is wanted", "image\n  " + installer + "\n  is wanted"},
		{
			"colours have no width", "\x1b[1;31mFAIL\x1b[m  storage tank has 41 GiB free, and the inventory asks for 448 GiB in all\x1b[m",
			"\x1b[1;31mFAIL\x1b[m  storage tank has 41 GiB free, and the inventory asks for 448 GiB in all\x1b[m",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, strings.Join(terminal.Fold(test.line, 80), "\n"))
			require.Equal(t, []string{test.line}, terminal.Fold(test.line, 0), "in a pipe")
		})
	}
}

// TestAFoldedCommandIsTakenByAShell has a shell read what was copied from the screen.
func TestAFoldedCommandIsTakenByAShell(t *testing.T) {
	t.Parallel()
	const command = `kubectl --kubeconfig '.lab/my stack/kube config' get nodes --selector "a b=c d" --output custom-columns=NAME:.metadata.name --watch`
	for width := 30; width < 140; width++ {
		folded := terminal.Fold("  "+command, width)
		for _, line := range folded {
			require.True(t, ansi.StringWidth(line) <= width || strings.Count(strings.TrimSpace(strings.TrimSuffix(line, `\`)), " ") == 0 || strings.ContainsAny(line, `'"`), line)
		}
		output, err := exec.CommandContext(t.Context(), "sh", "-c", "kubectl() { printf '%s\\n' \"$@\"; }\n"+strings.Join(folded, "\n")).Output()
		require.NoError(t, err)
		require.Equal(t, "--kubeconfig\n.lab/my stack/kube config\nget\nnodes\n--selector\na b=c d\n--output\ncustom-columns=NAME:.metadata.name\n--watch\n", string(output), width)
	}
}
