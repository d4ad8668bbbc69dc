package forge

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
)

// Kind is a forge.
type Kind string

// The forges.
const (
	GitHub  Kind = "github"
	GitLab  Kind = "gitlab"
	Forgejo Kind = "forgejo"
)

// Kinds are all forges.
var Kinds = []Kind{GitHub, GitLab, Forgejo}

// ParseKind returns the forge of a name. The error lists the names.
func ParseKind(name string) (Kind, error) {
	for _, kind := range Kinds {
		if name == string(kind) {
			return kind, nil
		}
	}
	return "", fmt.Errorf("%q is no forge: choose github, gitlab or forgejo", name)
}

// TokenVariable is the environment variable with the token of GitLab: the one of the job may not write comments.
const TokenVariable = "EM_INFRA_GITLAB_TOKEN" //nolint:gosec // a name

// Job is the job of a pipeline, as its environment describes it.
type Job struct {
	// Kind is the forge.
	Kind Kind
	// API is the URL of the forge's API.
	API string
	// Project is OWNER/NAME, on GitLab the number of the project.
	Project string
	// Change is the number of the pull request or merge request; 0 if the job runs for none.
	Change int
	// Token may write comments and issues. Secret.
	Token string
}

// ErrNoJob means that the environment is not that of a job.
var ErrNoJob = errors.New("no pipeline of GitHub, GitLab or Forgejo runs here: this command is for the jobs that `em-infra ci init` writes")

// JobIn reads the job from environment variables, which lookup returns, and from the file with the event that they name.
func JobIn(lookup func(string) string) (Job, error) {
	switch {
	case lookup("GITLAB_CI") != "":
		return gitlabJob(lookup)
	case lookup("GITHUB_ACTIONS") != "":
		return actionsJob(lookup)
	default:
		return Job{}, ErrNoJob
	}
}

// gitlabJob reads the predefined variables of GitLab.
func gitlabJob(lookup func(string) string) (Job, error) {
	job := Job{Kind: GitLab, API: lookup("CI_API_V4_URL"), Project: lookup("CI_PROJECT_ID"), Token: lookup(TokenVariable)}
	if job.Token == "" {
		return job, fmt.Errorf("%s is empty: make a project access token with the scope api, and put it into a masked variable of that name", TokenVariable)
	}
	if text := lookup("CI_MERGE_REQUEST_IID"); text != "" {
		number, err := strconv.Atoi(text)
		if err != nil {
			return job, fmt.Errorf("CI_MERGE_REQUEST_IID is %q, and not a number: run this command in a job of GitLab", text)
		}
		job.Change = number
	}
	return job, nil
}

// actionsJob reads the variables of GitHub Actions, which the runner of Forgejo sets, too; FORGEJO_ACTIONS or GITEA_ACTIONS distinguishes the two.
func actionsJob(lookup func(string) string) (Job, error) {
	job := Job{Kind: GitHub, API: lookup("GITHUB_API_URL"), Project: lookup("GITHUB_REPOSITORY"), Token: lookup("GITHUB_TOKEN")}
	if lookup("FORGEJO_ACTIONS")+lookup("GITEA_ACTIONS") != "" {
		job.Kind = Forgejo
	}
	if job.Token == "" {
		return job, errors.New("GITHUB_TOKEN is empty: give the step the token of its job, as `em-infra ci init` writes it")
	}
	text, err := os.ReadFile(lookup("GITHUB_EVENT_PATH")) //nolint:gosec // the runner names it
	if err != nil {
		return job, fmt.Errorf("the event that GITHUB_EVENT_PATH names cannot be read (%w): run this command in a job", err)
	}
	var event struct {
		PullRequest struct {
			Number int `json:"number"`
		} `json:"pull_request"`
	}
	if err := json.Unmarshal(text, &event); err != nil {
		return job, fmt.Errorf("the event that GITHUB_EVENT_PATH names is not JSON (%w): run this command in a job", err)
	}
	job.Change = event.PullRequest.Number
	return job, nil
}
