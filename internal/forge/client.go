package forge

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// patience is the time limit of one call.
const patience = time.Minute

// longestAnswer is how much of an answer is read, in bytes. A page of 100 comments of 64 KiB fits.
const longestAnswer = 16 << 20

// longestQuote is how much of a refusal's text an error quotes, in bytes.
const longestQuote = 300

// call calls the API of the job's forge below the project, and decodes the answer.
func (j Job) call(ctx context.Context, method, path string, body, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var text bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&text).Encode(body); err != nil {
			return err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(j.API, "/")+j.project()+path, &text)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	if j.Kind == GitLab {
		request.Header.Set("PRIVATE-TOKEN", j.Token)
	} else {
		request.Header.Set("Authorization", "token "+j.Token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("%s does not answer (%w): see that the runner reaches it", j.API, err)
	}
	defer func() { _ = response.Body.Close() }() // only read
	read, err := io.ReadAll(io.LimitReader(response.Body, longestAnswer))
	if err != nil {
		return err
	}
	if response.StatusCode >= http.StatusBadRequest {
		return j.refusal(method, path, response.Status, read)
	}
	return json.Unmarshal(read, answer)
}

// project returns the path of the job's project in the API.
func (j Job) project() string {
	if j.Kind == GitLab {
		return "/projects/" + j.Project
	}
	return "/repos/" + j.Project
}

// refusal returns the error for an answer whose HTTP status is an error.
func (j Job) refusal(method, path, status string, text []byte) error {
	reply := strings.Join(strings.Fields(string(text[:min(len(text), longestQuote)])), " ")
	needs := "pull-requests: write for comments and issues: write for issues"
	if j.Kind == GitLab {
		needs = "the scope api and the role Reporter"
	}
	return fmt.Errorf("%s %s%s: %s (%s): see that the token of the job has %s", method, j.project(), path, status, reply, needs)
}
