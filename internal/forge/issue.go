package forge

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

// issue is an issue of a project. GitLab has other names for its number and its text.
type issue struct {
	Number      int    `json:"number"`
	IID         int    `json:"iid"`
	Body        string `json:"body"`
	Description string `json:"description"`
	// PullRequest is set if the issue is a pull request, which GitHub lists with them.
	PullRequest any `json:"pull_request"`
}

func (i issue) text() string { return i.Body + i.Description }

// OpenIssue writes the open issue whose first line is the marker: it edits the one that is there, or opens one. The body begins with the
// marker.
func (j Job) OpenIssue(ctx context.Context, marker, title, body string) error {
	found, err := j.openIssue(ctx, marker)
	if err != nil {
		return err
	}
	text := "body"
	if j.Kind == GitLab {
		text = "description"
	}
	if found == nil {
		return j.call(ctx, http.MethodPost, "/issues", map[string]string{"title": title, text: body}, &issue{})
	}
	if found.text() == body {
		return nil
	}
	return j.changeIssue(ctx, *found, map[string]string{text: body})
}

// CloseIssue closes the open issue whose first line is the marker, if there is one.
func (j Job) CloseIssue(ctx context.Context, marker string) error {
	found, err := j.openIssue(ctx, marker)
	if err != nil || found == nil {
		return err
	}
	if j.Kind == GitLab {
		return j.changeIssue(ctx, *found, map[string]string{"state_event": "close"})
	}
	return j.changeIssue(ctx, *found, map[string]string{"state": "closed"})
}

func (j Job) openIssue(ctx context.Context, marker string) (*issue, error) {
	path := "/issues?state=open&"
	switch j.Kind {
	case GitLab:
		path = "/issues?state=opened&"
	case Forgejo:
		path = "/issues?state=open&type=issues&"
	case GitHub:
	}
	return pages(ctx, j, path, func(i issue) bool { return i.PullRequest == nil && strings.HasPrefix(i.text(), marker) })
}

func (j Job) changeIssue(ctx context.Context, of issue, change map[string]string) error {
	if j.Kind == GitLab {
		return j.call(ctx, http.MethodPut, fmt.Sprintf("/issues/%d", of.IID), change, &issue{})
	}
	return j.call(ctx, http.MethodPatch, fmt.Sprintf("/issues/%d", of.Number), change, &issue{})
}
