package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/em-infra/em-infra/internal/executabletest"
	"github.com/em-infra/em-infra/internal/forge"
	"github.com/em-infra/em-infra/internal/forge/forgetest"
	"github.com/em-infra/em-infra/internal/pipeline"
	"github.com/em-infra/em-infra/operator"
)

// asToolVariable makes this test a process of em-infra.
const asToolVariable = "EM_INFRA_TEST_AS_TOOL"

func TestMain(m *testing.M) {
	if os.Getenv(asToolVariable) != "" {
		os.Exit(run(context.Background(), streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}, os.Args[1:]))
	}
	os.Exit(m.Run())
}

// standIn is em-infra in a pipeline: it prints what a test has written for a command, with its exit code, and its ci commands are the
// real ones.
const standIn = `echo "$*" >> "$TEST_FOLDER/calls"
if [ "$1" = ci ]; then EM_INFRA_TEST_AS_TOOL=1 exec "$TEST_TOOL" "$@"; fi
if [ "$1" = preview ] && [ "$6" = --gitlab-report ]; then echo '{"create":1,"update":0,"delete":0}' > "$7"; fi
cat "$TEST_FOLDER/$1.out" 2>/dev/null
exit "$(cat "$TEST_FOLDER/$1.code" 2>/dev/null || echo 0)"
`

// job is a job of a pipeline on a runner with a forge.
type job struct {
	t      *testing.T
	kind   forge.Kind
	server *forgetest.Server
	folder string
}

func newJob(t *testing.T, kind forge.Kind) *job {
	t.Helper()
	j := &job{t: t, kind: kind, server: forgetest.New(t, kind, nil, nil), folder: t.TempDir()}
	executabletest.Script(t, filepath.Join(j.folder, "em-infra"), standIn)
	j.write("event.json", `{"pull_request": {"number": `+strconv.Itoa(forgetest.Change)+`}}`)
	return j
}

func (j *job) write(name, text string) {
	j.t.Helper()
	require.NoError(j.t, os.WriteFile(filepath.Join(j.folder, name), []byte(text), 0o600))
}

func (j *job) read(name string) string {
	j.t.Helper()
	text, err := os.ReadFile(filepath.Join(j.folder, name))
	require.NoError(j.t, err)
	return string(text)
}

// prints makes a command of em-infra print a text and end with a code.
func (j *job) prints(command, text string, code int) {
	j.t.Helper()
	j.write(command+".out", text)
	j.write(command+".code", strconv.Itoa(code))
}

// run runs the scripts of a job as its runner does, and returns the exit code and the output.
func (j *job) run(name string, env ...string) (int, string) {
	j.t.Helper()
	tool, err := os.Executable()
	require.NoError(j.t, err)
	shell := exec.CommandContext(j.t.Context(), "bash", "-e", "-c", j.script(name))
	shell.Dir = j.folder
	shell.Env = append([]string{
		"PATH=" + j.folder + ":" + os.Getenv("PATH"), "HOME=" + j.folder, "TEST_FOLDER=" + j.folder, "TEST_TOOL=" + tool, "STACK=k3s-dev",
		"GITHUB_STEP_SUMMARY=" + filepath.Join(j.folder, "summary"), "GITHUB_OUTPUT=" + filepath.Join(j.folder, "output"),
	}, append(j.environment(), env...)...)
	output, err := shell.CombinedOutput()
	if err != nil {
		var ended *exec.ExitError
		require.ErrorAs(j.t, err, &ended, string(output))
	}
	return shell.ProcessState.ExitCode(), string(output)
}

// environment is what the runner of the forge sets.
func (j *job) environment() []string {
	if j.kind == forge.GitLab {
		return []string{
			"GITLAB_CI=true", "CI_API_V4_URL=" + j.server.URL, "CI_PROJECT_ID=" + j.server.Project(),
			"CI_MERGE_REQUEST_IID=" + strconv.Itoa(forgetest.Change), forge.TokenVariable + "=" + forgetest.Token,
		}
	}
	set := []string{
		"GITHUB_ACTIONS=true", "GITHUB_API_URL=" + j.server.URL, "GITHUB_REPOSITORY=" + j.server.Project(), "GITHUB_TOKEN=" + forgetest.Token,
		"GITHUB_EVENT_PATH=" + filepath.Join(j.folder, "event.json"),
	}
	if j.kind == forge.Forgejo {
		set = append(set, "FORGEJO_ACTIONS=true")
	}
	return set
}

// script returns the lines of a job in the pipeline that use em-infra, but not those that install it.
func (j *job) script(name string) string {
	j.t.Helper()
	text, err := pipeline.Pipeline{Forge: j.kind, Stack: "k3s-dev", Runner: "self-hosted", Branch: "main"}.Text()
	require.NoError(j.t, err)
	type jobText struct {
		Steps  []struct{ Name, Run string }
		Script []string
	}
	var jobs map[string]jobText
	if j.kind == forge.GitLab {
		require.NoError(j.t, yaml.Unmarshal([]byte(text), &jobs))
		name = "em-infra-k3s-dev-" + name
	} else {
		var workflow struct{ Jobs map[string]jobText }
		require.NoError(j.t, yaml.Unmarshal([]byte(text), &workflow))
		jobs = workflow.Jobs
	}
	lines := jobs[name].Script
	for _, step := range jobs[name].Steps {
		if step.Name != "Install em-infra" {
			lines = append(lines, step.Run)
		}
	}
	require.NotEmpty(j.t, lines, name)
	return strings.Join(lines, "\n")
}

// planned is what preview prints for a plan with a fingerprint.
func planned(fingerprint string) string {
	return operator.CommentMarker("k3s-dev") + "\n### k3s-dev: 1 REBOOT\n\n`em-infra up --stack k3s-dev --yes --plan " + fingerprint + "` carries out this plan, and refuses if it is another one by then.\n"
}

const firstPlan, secondPlan = "0123456789abcdef", "fedcba9876543210"

// TestThePreviewOfAChangeIsOneComment: it is edited by each run, also by one that fails, and a plan that up would refuse fails the job.
func TestThePreviewOfAChangeIsOneComment(t *testing.T) {
	t.Parallel()
	for _, kind := range forge.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			j := newJob(t, kind)
			for _, one := range []struct {
				text       string
				code, want int
				comment    string
			}{
				{planned(firstPlan), exitChanges, exitOK, planned(firstPlan)},
				{planned(secondPlan), exitRefused, exitRefused, planned(secondPlan)},
				{"", exitFailed, exitFailed, "<!-- em-infra:k3s-dev -->\n### k3s-dev: the preview failed\n\nThe log of its job says why.\n"},
				{planned(firstPlan), exitOK, exitOK, planned(firstPlan)},
			} {
				j.prints("preview", one.text, one.code)
				code, output := j.run("preview")
				require.Equal(t, one.want, code, output)
				require.Contains(t, output, one.text)
				comments := j.server.Comments()
				require.Len(t, comments, 1)
				require.Equal(t, one.comment, comments[0].Body)
			}
			if kind == forge.GitLab {
				require.JSONEq(t, `{"create":1,"update":0,"delete":0}`, j.read("plan.json"))
			} else {
				require.Contains(t, j.read("summary"), "### k3s-dev: 1 REBOOT")
			}
		})
	}
}

// TestUpCarriesOutThePlanThatWasShown: its fingerprint goes from the job that plans to the one that carries out.
func TestUpCarriesOutThePlanThatWasShown(t *testing.T) {
	t.Parallel()
	for _, kind := range forge.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			j := newJob(t, kind)
			j.prints("preview", planned(firstPlan), exitChanges)
			code, output := j.run("plan")
			require.Equal(t, exitOK, code, output)
			switch kind {
			case forge.GitHub:
				require.Equal(t, "fingerprint="+firstPlan+"\n", j.read("output"))
			case forge.GitLab:
				require.Equal(t, "FINGERPRINT="+firstPlan+"\n", j.read("plan.env"))
			case forge.Forgejo:
				require.Contains(t, output, "to carry it out, run this workflow with the fingerprint "+firstPlan+"\n")
			}
			j.prints("up", "", exitRefused)
			code, output = j.run("up", "FINGERPRINT="+firstPlan)
			require.Equal(t, exitRefused, code, output)
			require.Contains(t, j.read("calls"), "up --stack k3s-dev --yes --plan "+firstPlan+"\n")

			j.prints("preview", "<!-- em-infra:k3s-dev -->\n### k3s-dev: nothing would change\n", exitOK)
			j.write("output", "")
			code, output = j.run("plan")
			require.Equal(t, exitOK, code, output)
			switch kind {
			case forge.GitHub:
				require.Equal(t, "fingerprint=\n", j.read("output"))
			case forge.GitLab:
				require.Equal(t, "FINGERPRINT=\n", j.read("plan.env"))
				code, output = j.run("up", "FINGERPRINT=")
				require.Equal(t, exitOK, code)
				require.Equal(t, "nothing would change\n", output)
			case forge.Forgejo:
				require.NotContains(t, output, "to carry it out")
			}
			j.prints("preview", planned(firstPlan), exitRefused)
			code, output = j.run("plan")
			require.Equal(t, exitRefused, code, output)
		})
	}
}

// TestDriftIsOneIssue: it is opened, edited and closed; a drift that failed changes nothing and fails the job.
func TestDriftIsOneIssue(t *testing.T) {
	t.Parallel()
	for _, kind := range forge.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			j := newJob(t, kind)
			for _, one := range []struct {
				text       string
				code, want int
				closed     bool
				shown      string
			}{
				{"memory 4096 → 8192", exitChanges, exitOK, false, "memory 4096 → 8192"},
				{"cores 2 → 4", exitChanges, exitOK, false, "cores 2 → 4"},
				{"not read", exitFailed, exitFailed, false, "cores 2 → 4"},
				{"no drift", exitOK, exitOK, true, "cores 2 → 4"},
			} {
				j.prints("drift", one.text+"\n", one.code)
				code, output := j.run("drift")
				require.Equal(t, one.want, code, output)
				require.Contains(t, output, one.text)
				issues := j.server.Issues()
				require.Len(t, issues, 1)
				require.Equal(t, "Drift of k3s-dev", issues[0].Title)
				require.Equal(t, one.closed, issues[0].Closed)
				require.Equal(t, "<!-- em-infra-drift:k3s-dev -->\nWhat runs differs from the inventory of k3s-dev. `em-infra up` puts it back; this issue is closed by the next run that finds no drift.\n\n~~~~\n"+one.shown+"\n~~~~\n", issues[0].Body)
			}
		})
	}
}

func TestALongReportOfDriftIsCutAtALine(t *testing.T) {
	t.Parallel()
	text := driftIssue("k3s-dev", strings.Repeat("memory 4096 → 8192\n", 10_000))
	require.Less(t, len(text), 65_000)
	require.Contains(t, text, "memory 4096 → 8192\nand 7143 more lines\n~~~~\n")
}

// TestChangesAreCheckedBeforeTheyArePreviewed.
func TestChangesAreCheckedBeforeTheyArePreviewed(t *testing.T) {
	t.Parallel()
	for _, kind := range forge.Kinds {
		j := newJob(t, kind)
		j.prints("rehearse", "", exitFailed)
		code, output := j.run("check")
		require.Equal(t, exitFailed, code, output)
		require.Equal(t, "validate --stack k3s-dev\nrehearse --stack k3s-dev\n", j.read("calls"))
	}
}
