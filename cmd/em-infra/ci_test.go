package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAPipelineIsInitialised writes it, keeps what was edited, and prints what else is needed.
func TestAPipelineIsInitialised(t *testing.T) {
	root := project(t)
	cloned(t, root)
	const rest = "the state of k3s-dev is in a folder of this machine, which no runner has: move it into a bucket with `em-infra state migrate` first\n" +
		"next: the secrets and the approval that it needs, in docs/ci.md\n"
	github := []string{"ci", "init", "--stack", "k3s-dev", "--forge", "github"}
	require.Equal(t, outcome{out: ".github/workflows/em-infra-k3s-dev.yml: written\n" + rest}, em(t.Context(), github...))
	require.Equal(t, outcome{out: ".github/workflows/em-infra-k3s-dev.yml: is as it would be written\n" + rest}, em(t.Context(), github...))

	path := filepath.Join(root, ".github/workflows/em-infra-k3s-dev.yml")
	writeFile(t, path, "mine\n")
	require.Equal(t, refusal(".github/workflows/em-infra-k3s-dev.yml was edited, and is kept: add --overwrite to replace it"), em(t.Context(), github...))
	require.Equal(t, exitOK, em(t.Context(), append(github, "--overwrite")...).code)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), "name: em-infra k3s-dev\n")

	writeFile(t, filepath.Join(root, ".gitlab-ci.yml"), "stages: [test, deploy]\n")
	require.Equal(t, outcome{out: ".gitlab/em-infra-k3s-dev.yml: written\n" +
		"the state of k3s-dev is in a folder of this machine, which no runner has: move it into a bucket with `em-infra state migrate` first\n" +
		"add to .gitlab-ci.yml:\ninclude:\n  - local: .gitlab/em-infra-*.yml\n" +
		"next: the secrets and the approval that it needs, in docs/ci.md\n"}, em(t.Context(), "ci", "init", "--stack", "k3s-dev", "--forge", "gitlab"))
}

// cloned makes a project look like a clone of em-infra.
func cloned(t *testing.T, root string) {
	t.Helper()
	writeFile(t, filepath.Join(root, "go.mod"), "module github.com/em-infra/em-infra\n")
	writeFile(t, filepath.Join(root, "cmd/em-infra/main.go"), "package main\n")
}

// TestAProjectWithoutAClone: the jobs could build nothing in a project that init has made.
func TestAProjectWithoutAClone(t *testing.T) {
	root := project(t)
	require.Equal(t, refusal("the jobs build em-infra from the project, which has to be a clone of em-infra (it has no go.mod and no cmd/em-infra; got "+root+
		"): move the files of this project into a clone, push that to a repository of your own, then run ci init there"),
		em(t.Context(), "ci", "init", "--stack", "k3s-dev", "--forge", "github"))
	require.NoDirExists(t, filepath.Join(root, ".github"))
}

func TestRefusalsOfCI(t *testing.T) {
	project(t)
	for _, name := range []string{"GITLAB_CI", "GITHUB_ACTIONS"} {
		t.Setenv(name, "")
	}
	const noJob = "no pipeline of GitHub, GitLab or Forgejo runs here: this command is for the jobs that `em-infra ci init` writes"
	for _, test := range []struct {
		args []string
		want outcome
	}{
		{[]string{"ci", "init", "--stack", "k3s-dev"}, refusal(`--forge: "" is no forge: choose github, gitlab or forgejo`)},
		{[]string{"ci", "init", "--stack", "k3s-dev", "--forge", "gitea"}, refusal(`--forge: "gitea" is no forge: choose github, gitlab or forgejo`)},
		{[]string{"ci", "init", "--forge", "github"}, refusal("no stack is named: add --stack NAME, e.g. --stack k3s-dev")},
		{[]string{"ci", "comment"}, refusal("no stack is named: add --stack NAME, e.g. --stack k3s-dev")},
		{[]string{"ci", "comment", "--stack", "k3s-dev"}, refusal(noJob)},
		{[]string{"ci", "issue", "--exit-code", "0"}, refusal("no stack is named: add --stack NAME, e.g. --stack k3s-dev")},
		{[]string{"ci", "issue", "--stack", "k3s-dev", "--exit-code", "0"}, refusal(noJob)},
		{
			[]string{"ci", "issue", "--stack", "k3s-dev"},
			outcome{err: "drift ended with exit code -1, so it is not known whether there is any: its log says why\n", code: exitFailed},
		},
	} {
		require.Equal(t, test.want, em(t.Context(), test.args...), "%v", test.args)
	}
}
