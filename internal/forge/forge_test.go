package forge_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/forge"
	"github.com/em-infra/em-infra/internal/forge/forgetest"
)

const marker = "<!-- em-infra:k3s-dev -->"

func jobOn(s *forgetest.Server) forge.Job {
	return forge.Job{Kind: s.Kind, API: s.URL, Project: s.Project(), Change: forgetest.Change, Token: forgetest.Token}
}

// others returns as many comments of other people as fill two pages.
func others() []forgetest.Item {
	var items []forgetest.Item
	for i := range 100 {
		items = append(items, forgetest.Item{ID: i + 1, Body: fmt.Sprintf("I read %s %d times", marker, i)})
	}
	return items
}

// TestThereIsOneComment: it is made once, and edited where it stands behind two pages of others; the others stay.
func TestThereIsOneComment(t *testing.T) {
	t.Parallel()
	for kind, writes := range map[forge.Kind][]string{
		forge.GitHub:  {"POST /repos/me/cluster/issues/7/comments", "PATCH /repos/me/cluster/issues/comments/200"},
		forge.Forgejo: {"POST /repos/me/cluster/issues/7/comments", "PATCH /repos/me/cluster/issues/comments/200"},
		forge.GitLab:  {"POST /projects/42/merge_requests/7/notes", "PUT /projects/42/merge_requests/7/notes/200"},
	} {
		server := forgetest.New(t, kind, others(), nil)
		for _, body := range []string{"first", "second", "second"} {
			require.NoError(t, jobOn(server).Comment(t.Context(), marker, marker+"\n"+body), kind)
		}
		require.Equal(t, append(others(), forgetest.Item{ID: 200, Body: marker + "\nsecond"}), server.Comments(), kind)
		require.Equal(t, writes, server.Writes(), "what is the same is not written")
	}
}

// TestAPageOfForgejoThatIsFull: it gives all comments at once, so a full page is no reason to ask again for the same.
func TestAPageOfForgejoThatIsFull(t *testing.T) {
	t.Parallel()
	server := forgetest.New(t, forge.Forgejo, others()[:50], nil)
	require.NoError(t, jobOn(server).Comment(t.Context(), marker, marker))
	require.Len(t, server.Comments(), 51)
}

// TestPagesAreSmallerThanAskedFor, as on a Forgejo with another MAX_RESPONSE_ITEMS: what stands on a later page is found.
func TestPagesAreSmallerThanAskedFor(t *testing.T) {
	t.Parallel()
	var there []forgetest.Item
	for i := range 40 {
		there = append(there, forgetest.Item{ID: i + 1, Body: "another issue"})
	}
	server := forgetest.New(t, forge.Forgejo, nil, append(there, forgetest.Item{ID: 41, Body: marker + "first"}))
	server.MaxPage = 30
	require.NoError(t, jobOn(server).OpenIssue(t.Context(), marker, "Drift", marker+"second"))
	require.Equal(t, append(there, forgetest.Item{ID: 41, Body: marker + "second"}), server.Issues())
}

// TestThereIsOneIssue: it is opened once, edited, closed, and opened anew; a pull request with the marker is not taken for it.
func TestThereIsOneIssue(t *testing.T) {
	t.Parallel()
	for _, kind := range forge.Kinds {
		var there []forgetest.Item
		if kind == forge.GitHub {
			there = append(there, forgetest.Item{ID: 3, Body: marker, Pull: true})
		}
		server := forgetest.New(t, kind, nil, there)
		job := jobOn(server)
		require.NoError(t, job.CloseIssue(t.Context(), marker), "there is none")
		require.Empty(t, server.Writes())
		for _, body := range []string{"first", "second", "second"} {
			require.NoError(t, job.OpenIssue(t.Context(), marker, "Drift", marker+body), kind)
		}
		require.NoError(t, job.CloseIssue(t.Context(), marker))
		require.NoError(t, job.OpenIssue(t.Context(), marker, "Drift", marker+"third"))
		first := 100 + len(there)
		require.Equal(t, append(there, forgetest.Item{ID: first, Title: "Drift", Body: marker + "second", Closed: true}, forgetest.Item{ID: first + 1, Title: "Drift", Body: marker + "third"}), server.Issues(), kind)
		require.Len(t, server.Writes(), 4, kind)
	}
}

func TestARefusalSaysWhatTheTokenNeeds(t *testing.T) {
	t.Parallel()
	for kind, want := range map[forge.Kind]string{
		forge.GitHub: `GET /repos/me/cluster/issues/7/comments?per_page=50&page=1: 401 Unauthorized ({"message": "Bad credentials"}): see that the token of the job has pull-requests: write for comments and issues: write for issues`,
		forge.GitLab: `GET /projects/42/merge_requests/7/notes?per_page=50&page=1: 401 Unauthorized ({"message": "Bad credentials"}): see that the token of the job has the scope api and the role Reporter`,
	} {
		job := jobOn(forgetest.New(t, kind, nil, nil))
		job.Token = "another one"
		require.EqualError(t, job.Comment(t.Context(), marker, marker), want)
		job.Change = 0
		require.EqualError(t, job.Comment(t.Context(), marker, marker), "this job runs for no pull request or merge request, which a comment needs: call it in a job of one")
	}
}

func TestTheJobIsReadFromItsEnvironment(t *testing.T) {
	t.Parallel()
	event := func(text string) string {
		path := filepath.Join(t.TempDir(), "event.json")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	actions := map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_API_URL": "https://api.github.com", "GITHUB_REPOSITORY": "me/cluster", "GITHUB_TOKEN": "t"}
	gitlab := map[string]string{"GITLAB_CI": "true", "CI_API_V4_URL": "https://gitlab.example/api/v4", "CI_PROJECT_ID": "42", forge.TokenVariable: "t"}
	github := forge.Job{Kind: forge.GitHub, API: "https://api.github.com", Project: "me/cluster", Change: 7, Token: "t"}
	onForgejo, scheduled := github, github
	onForgejo.Kind, scheduled.Change = forge.Forgejo, 0
	for _, test := range []struct {
		base map[string]string
		also map[string]string
		job  forge.Job
		err  string
	}{
		{base: actions, also: map[string]string{"GITHUB_EVENT_PATH": event(`{"pull_request": {"number": 7}}`)}, job: github},
		{base: actions, also: map[string]string{"GITHUB_EVENT_PATH": event(`{"schedule": "17 5 * * *"}`)}, job: scheduled},
		{base: actions, also: map[string]string{"GITHUB_EVENT_PATH": event(`{"pull_request": {"number": 7}}`), "FORGEJO_ACTIONS": "true"}, job: onForgejo},
		{base: actions, also: map[string]string{"GITHUB_TOKEN": ""}, err: "GITHUB_TOKEN is empty: give the step the token of its job, as `em-infra ci init` writes it"},
		{base: actions, also: map[string]string{"GITHUB_EVENT_PATH": event(`{`)}, err: "the event that GITHUB_EVENT_PATH names is not JSON (unexpected end of JSON input): run this command in a job"},
		{base: gitlab, also: map[string]string{"CI_MERGE_REQUEST_IID": "7"}, job: forge.Job{Kind: forge.GitLab, API: "https://gitlab.example/api/v4", Project: "42", Change: 7, Token: "t"}},
		{base: gitlab, job: forge.Job{Kind: forge.GitLab, API: "https://gitlab.example/api/v4", Project: "42", Token: "t"}},
		{base: gitlab, also: map[string]string{forge.TokenVariable: ""}, err: "EM_INFRA_GITLAB_TOKEN is empty: make a project access token with the scope api, and put it into a masked variable of that name"},
		{base: gitlab, also: map[string]string{"CI_MERGE_REQUEST_IID": "!7"}, err: `CI_MERGE_REQUEST_IID is "!7", and not a number: run this command in a job of GitLab`},
		{err: "no pipeline of GitHub, GitLab or Forgejo runs here: this command is for the jobs that `em-infra ci init` writes"},
	} {
		job, err := forge.JobIn(func(name string) string {
			if value, set := test.also[name]; set {
				return value
			}
			return test.base[name]
		})
		if test.err != "" {
			require.EqualError(t, err, test.err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, test.job, job)
	}
}
