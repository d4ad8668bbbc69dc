package pipeline_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/em-infra/em-infra/internal/forge"
	"github.com/em-infra/em-infra/internal/golden"
	"github.com/em-infra/em-infra/internal/pipeline"
)

func of(kind forge.Kind) pipeline.Pipeline {
	return pipeline.Pipeline{Forge: kind, Stack: "k3s-dev", Runner: "self-hosted", Branch: "main"}
}

func textOf(t *testing.T, kind forge.Kind) string {
	t.Helper()
	text, err := of(kind).Text()
	require.NoError(t, err)
	return text
}

func TestPipelines(t *testing.T) {
	t.Parallel()
	for _, kind := range forge.Kinds {
		golden.Equal(t, filepath.Join("testdata", string(kind)+".yml"), textOf(t, kind))
	}
}

// TestWorkflowsAreValid: actionlint checks keys, expressions, contexts and events. It knows no copy of an action on another server.
func TestWorkflowsAreValid(t *testing.T) {
	t.Parallel()
	lint := func(text string) []*actionlint.Error {
		linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
		require.NoError(t, err)
		found, err := linter.Lint("<stdin>", []byte(text), nil)
		require.NoError(t, err)
		return found
	}
	for _, kind := range []forge.Kind{forge.GitHub, forge.Forgejo} {
		text := strings.ReplaceAll(textOf(t, kind), "https://data.forgejo.org/", "")
		require.Empty(t, lint(text), kind)
		require.NotEmpty(t, lint(strings.Replace(text, "timeout-minutes", "timeout", 1)), "it finds a wrong key")
	}
}

// workflow is what the rules below read of a workflow of GitHub or Forgejo.
type workflow struct {
	Permissions map[string]string
	Jobs        map[string]struct {
		If          string
		Permissions map[string]string
		Concurrency struct {
			Group  string
			Cancel *bool `yaml:"cancel-in-progress"`
		}
		Environment string
		Env         map[string]string
	}
}

// TestRightsOfJobs: each job has the least rights; up runs alone and is never cancelled; what a fork proposes gets no secret.
func TestRightsOfJobs(t *testing.T) {
	t.Parallel()
	for _, kind := range []forge.Kind{forge.GitHub, forge.Forgejo} {
		var read workflow
		require.NoError(t, yaml.Unmarshal([]byte(textOf(t, kind)), &read))
		require.Equal(t, map[string]string{"contents": "read"}, read.Permissions)
		require.Len(t, read.Jobs, 5)
		for name, want := range map[string]map[string]string{
			"preview": {"contents": "read", "pull-requests": "write"}, "drift": {"contents": "read", "issues": "write"}, "check": nil, "plan": nil, "up": nil,
		} {
			require.Equal(t, want, read.Jobs[name].Permissions, name)
		}
		for name, group := range map[string]string{
			"preview": "em-infra-k3s-dev-preview-${{ github.event.pull_request.number }}", "up": "em-infra-k3s-dev", "drift": "em-infra-k3s-dev-drift",
		} {
			require.Equal(t, group, read.Jobs[name].Concurrency.Group)
			require.NotNil(t, read.Jobs[name].Concurrency.Cancel)
			require.False(t, *read.Jobs[name].Concurrency.Cancel)
		}
		require.Contains(t, read.Jobs["preview"].If, "github.event.pull_request.head.repo.full_name == github.repository")
		require.Empty(t, read.Jobs["check"].Env, "no secrets")
		require.Equal(t, kind == forge.GitHub, read.Jobs["up"].Environment == "k3s-dev")
	}
}

// TestJobsOfGitLab: each extends the template; none is interrupted; up is started by a person, and runs alone.
func TestJobsOfGitLab(t *testing.T) {
	t.Parallel()
	type job struct {
		Extends       string
		Interruptible *bool
		Rules         []struct{ If, When string }
		ResourceGroup string `yaml:"resource_group"`
		Environment   string
		Artifacts     struct{ Reports map[string]string }
	}
	var jobs map[string]job
	require.NoError(t, yaml.Unmarshal([]byte(textOf(t, forge.GitLab)), &jobs))
	require.Len(t, jobs, 6)
	require.False(t, *jobs[".em-infra-k3s-dev"].Interruptible)
	for name, groups := range map[string]string{"check": "", "preview": "em-infra-k3s-dev-preview", "plan": "", "up": "em-infra-k3s-dev", "drift": "em-infra-k3s-dev-drift"} {
		one := jobs["em-infra-k3s-dev-"+name]
		require.Equal(t, ".em-infra-k3s-dev", one.Extends, name)
		require.Equal(t, groups, one.ResourceGroup, name)
		require.Len(t, one.Rules, 1, name)
		require.Equal(t, name == "up", one.Rules[0].When == "manual", name)
	}
	require.Equal(t, "k3s-dev", jobs["em-infra-k3s-dev-up"].Environment)
	require.Equal(t, map[string]string{"terraform": "plan.json"}, jobs["em-infra-k3s-dev-preview"].Artifacts.Reports)
}

func TestNamesThatAPipelineCannotContain(t *testing.T) {
	t.Parallel()
	require.NoError(t, of(forge.GitHub).Check())
	other := of(forge.GitHub)
	other.Runner = `x" # ${{ secrets.A }}`
	require.EqualError(t, other.Check(), `--runner: "x\" # ${{ secrets.A }}" has characters that a pipeline would interpret: use letters, digits, dots, hyphens, underscores and slashes`)
}

// TestAPipelineIsWrittenOnce: it is kept as it is, replaced by another one, and never lost when it was edited.
func TestAPipelineIsWrittenOnce(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	made := of(forge.GitLab)
	write := func(p pipeline.Pipeline, overwrite bool) bool {
		changed, err := p.Write(root, overwrite)
		require.NoError(t, err)
		return changed
	}
	require.True(t, write(made, false))
	require.False(t, write(made, false), "it is the same")
	other := made
	other.Runner = "homelab"
	require.True(t, write(other, false), "it was not edited")

	path := filepath.Join(root, made.Path())
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	edited := strings.Replace(string(text), "12 hours", "6 hours", 1)
	for _, mine := range []string{edited, "mine\n", ""} {
		require.NoError(t, os.WriteFile(path, []byte(mine), 0o600))
		_, err = other.Write(root, false)
		require.EqualError(t, err, ".gitlab/em-infra-k3s-dev.yml was edited, and is kept: add --overwrite to replace it")
		kept, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, mine, string(kept))
	}
	require.True(t, write(other, true))
	again, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(text), string(again))
}

// TestGitLabReadsThePipeline: a file that is not there is written, and another one is the owner's.
func TestGitLabReadsThePipeline(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for range 2 {
		included, err := pipeline.Included(root)
		require.NoError(t, err)
		require.True(t, included)
	}
	path := filepath.Join(root, pipeline.GitLabFile)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, pipeline.Include, string(text))
	require.NoError(t, os.WriteFile(path, []byte("stages: [test]\n"), 0o600))
	included, err := pipeline.Included(root)
	require.NoError(t, err)
	require.False(t, included)
}
