// Package forgetest is a forge for tests: the comments of one change, and the issues of one project, by the API of GitHub, GitLab or
// Forgejo.
package forgetest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/em-infra/em-infra/internal/forge"
)

// What a server knows.
const (
	Token  = "made-up token" //nolint:gosec // opens nothing
	Change = 7
)

// Item is a comment or an issue.
type Item struct {
	ID     int
	Title  string
	Body   string
	Closed bool
	// Pull is whether it is a pull request, which GitHub lists with the issues.
	Pull bool
}

// Server is a forge.
type Server struct {
	// Kind is the forge.
	Kind forge.Kind
	// URL is that of its API.
	URL string
	// MaxPage is the largest number of items of a page. Default: 0, as many as asked for.
	MaxPage int

	guard            sync.Mutex
	comments, issues []Item
	calls            []string
}

// New starts a forge with comments and issues, which ends with the test.
func New(t testing.TB, kind forge.Kind, comments, issues []Item) *Server {
	t.Helper()
	s := &Server{Kind: kind, comments: comments, issues: issues}
	front := httptest.NewServer(s)
	t.Cleanup(front.Close)
	s.URL = front.URL
	return s
}

// Project is how the forge names the project.
func (s *Server) Project() string {
	if s.Kind == forge.GitLab {
		return "42"
	}
	return "me/cluster"
}

// Comments returns the comments.
func (s *Server) Comments() []Item { return s.copied(&s.comments) }

// Issues returns the issues.
func (s *Server) Issues() []Item { return s.copied(&s.issues) }

func (s *Server) copied(items *[]Item) []Item {
	s.guard.Lock()
	defer s.guard.Unlock()
	return append([]Item{}, *items...)
}

// Writes returns the calls that changed something.
func (s *Server) Writes() []string {
	s.guard.Lock()
	defer s.guard.Unlock()
	return append([]string{}, s.calls...)
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.guard.Lock()
	defer s.guard.Unlock()
	if r.Header.Get("Authorization") != "token "+Token && r.Header.Get("PRIVATE-TOKEN") != Token {
		http.Error(w, `{"message": "Bad credentials"}`, http.StatusUnauthorized)
		return
	}
	if r.Method != http.MethodGet {
		s.calls = append(s.calls, r.Method+" "+r.URL.Path)
	}
	root := "/repos/"
	if s.Kind == forge.GitLab {
		root = "/projects/"
	}
	path, ours := strings.CutPrefix(r.URL.Path, root+s.Project())
	if !ours {
		http.NotFound(w, r)
		return
	}
	on, edited := "/issues/7/comments", "/issues/comments/"
	if s.Kind == forge.GitLab {
		on, edited = "/merge_requests/7/notes", "/merge_requests/7/notes/"
	}
	switch {
	case path == on:
		s.list(w, r, &s.comments, s.Kind != forge.Forgejo)
	case strings.HasPrefix(path, edited):
		s.edit(w, r, s.comments, path[len(edited):])
	case path == "/issues":
		s.list(w, r, &s.issues, true)
	case strings.HasPrefix(path, "/issues/"):
		s.edit(w, r, s.issues, path[len("/issues/"):])
	default:
		http.NotFound(w, r)
	}
}

// list answers with a page of the items that are not closed, or adds one.
func (s *Server) list(w http.ResponseWriter, r *http.Request, items *[]Item, paged bool) {
	if r.Method == http.MethodPost {
		made := Item{ID: 100 + len(*items)}
		if !s.read(w, r, &made) {
			return
		}
		*items = append(*items, made)
		s.answer(w, s.item(made))
		return
	}
	var open []map[string]any
	for _, item := range *items {
		if !item.Closed {
			open = append(open, s.item(item))
		}
	}
	if !paged {
		s.answer(w, open)
		return
	}
	size, _ := strconv.Atoi(r.FormValue("per_page") + r.FormValue("limit"))
	if s.MaxPage > 0 {
		size = min(size, s.MaxPage)
	}
	page, _ := strconv.Atoi(r.FormValue("page"))
	from := min((page-1)*size, len(open))
	s.answer(w, open[from:min(from+size, len(open))])
}

// edit changes an item.
func (s *Server) edit(w http.ResponseWriter, r *http.Request, items []Item, id string) {
	method := http.MethodPatch
	if s.Kind == forge.GitLab {
		method = http.MethodPut
	}
	for i := range items {
		if strconv.Itoa(items[i].ID) == id && r.Method == method {
			if s.read(w, r, &items[i]) {
				s.answer(w, s.item(items[i]))
			}
			return
		}
	}
	http.NotFound(w, r)
}

// read takes what a request says of an item.
func (s *Server) read(w http.ResponseWriter, r *http.Request, item *Item) bool {
	var change struct {
		Title, Body, Description, State string
		StateEvent                      string `json:"state_event"`
	}
	if err := json.NewDecoder(r.Body).Decode(&change); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return false
	}
	if change.Title != "" {
		item.Title = change.Title
	}
	if text := change.Body + change.Description; text != "" {
		item.Body = text
	}
	item.Closed = change.State == "closed" || change.StateEvent == "close"
	return true
}

func (s *Server) item(i Item) map[string]any {
	shown := map[string]any{"id": i.ID, "title": i.Title}
	switch s.Kind {
	case forge.GitLab:
		shown["iid"] = i.ID
		if i.Title == "" { // a note
			shown["body"] = i.Body
		} else {
			shown["description"] = i.Body
		}
	default:
		shown["number"], shown["body"] = i.ID, i.Body
		if i.Pull {
			shown["pull_request"] = map[string]string{}
		}
	}
	return shown
}

func (s *Server) answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(value); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}
