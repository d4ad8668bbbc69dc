package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// pageSize is the number of items of a page. A forge may give fewer, such as a Forgejo with another MAX_RESPONSE_ITEMS.
const pageSize = 50

// comment is a comment on a change.
type comment struct {
	ID   int    `json:"id"`
	Body string `json:"body"`
}

// ErrNoChange means that the job runs for no pull request.
var ErrNoChange = errors.New("this job runs for no pull request or merge request, which a comment needs: call it in a job of one")

// Comment writes the comment on the job's change whose first line is the marker: it edits the one that is there, or makes one. The body
// begins with the marker.
func (j Job) Comment(ctx context.Context, marker, body string) error {
	if j.Change == 0 {
		return ErrNoChange
	}
	on := fmt.Sprintf("/issues/%d/comments", j.Change)
	edit, method := "/issues/comments/%d", http.MethodPatch
	if j.Kind == GitLab {
		on = fmt.Sprintf("/merge_requests/%d/notes", j.Change)
		edit, method = on+"/%d", http.MethodPut
	}
	found, err := pages(ctx, j, on+"?", func(c comment) bool { return strings.HasPrefix(c.Body, marker) })
	if err != nil {
		return err
	}
	written := map[string]string{"body": body}
	var answer comment
	switch {
	case found == nil:
		return j.call(ctx, http.MethodPost, on, written, &answer)
	case found.Body == body:
		return nil
	default:
		return j.call(ctx, method, fmt.Sprintf(edit, found.ID), written, &answer)
	}
}

// pages returns the first item of a list that is wanted; nil if there is none.
func pages[T any](ctx context.Context, j Job, path string, wanted func(T) bool) (*T, error) {
	size := "per_page"
	if j.Kind == Forgejo {
		size = "limit"
	}
	for page := 1; ; page++ {
		var items []T
		query := fmt.Sprintf("%s=%d&page=%d", size, pageSize, page)
		if err := j.call(ctx, http.MethodGet, path+query, nil, &items); err != nil {
			return nil, err
		}
		for i := range items {
			if wanted(items[i]) {
				return &items[i], nil
			}
		}
		if len(items) == 0 || j.Kind == Forgejo && strings.HasSuffix(path, "/comments?") { // Forgejo gives all comments at once
			return nil, nil //nolint:nilnil // there is none
		}
	}
}
