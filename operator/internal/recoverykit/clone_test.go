package recoverykit_test

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator/internal/recoverykit"
)

// TestWhereACloneCameFrom: the page is in clear, so a user of a URL is left out, and so is a folder of this machine, which is of no use on another
// one.
func TestWhereACloneCameFrom(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	for origin, want := range map[string]string{
		"https://github.com/em-infra/em-infra":             "https://github.com/em-infra/em-infra",
		"https://somebody:hunter2@git.example/a.git?x=y#z": "https://git.example/a.git",
		"ssh://git:hunter2@git.example:2222/a.git":         "ssh://git@git.example:2222/a.git",
		"git@git.example:home/cluster.git":                 "git@git.example:home/cluster.git",
		"../origin":                                        "",
		"/srv/git/a.git":                                   "",
		"file:///srv/git/a.git":                            "",
		"https://git.example/%zz":                          "",
	} {
		t.Run(origin, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			git := func(args ...string) string {
				output, err := exec.Command("git", append([]string{"-C", folder, "-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)...).CombinedOutput()
				require.NoError(t, err, "%s", output)
				return string(output)
			}
			repository, commit := recoverykit.CloneOf(t.Context(), folder)
			require.Empty(t, repository+commit, "no clone yet")
			git("init", "--quiet")
			git("remote", "add", "origin", origin)
			git("commit", "--quiet", "--allow-empty", "--message", "first")
			repository, commit = recoverykit.CloneOf(t.Context(), folder)
			require.Equal(t, want, repository)
			require.Equal(t, git("rev-parse", "HEAD"), commit+"\n")
		})
	}
}
