package proxmox

import (
	"net/http"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
)

// shownTask is a task as the API returns it. A token's task belongs to its user (pve-manager API2/Tasks.pm,
// convert_token_task).
type shownTask struct {
	UPID      string `json:"upid"`
	Node      string `json:"node"`
	PID       int    `json:"pid"`
	PStart    int64  `json:"pstart"`
	StartTime int64  `json:"starttime"`
	Type      string `json:"type"`
	ID        string `json:"id"`
	User      string `json:"user"`
	TokenID   string `json:"tokenid,omitempty"`
	EndTime   int64  `json:"endtime,omitempty"`
	// Status is "running" or "stopped" for one task, and the exit status in lists.
	Status     string `json:"status,omitempty"`
	ExitStatus string `json:"exitstatus,omitempty"`
	Saved      string `json:"saved,omitempty"`
}

func showTask(t task.Record, inList bool) shownTask {
	shown := shownTask{
		UPID: t.UPID, Node: t.Node, PID: t.PID, PStart: t.PStart, StartTime: t.Start, Type: t.Type, ID: t.ID,
		User: access.Owner(t.User),
	}
	_, shown.TokenID, _ = strings.Cut(t.User, "!")

	switch {
	case inList:
		shown.EndTime, shown.Status = t.End, t.Exit
	case t.Running():
		shown.Status = statusRunning
	default:
		shown.Status, shown.ExitStatus = statusStopped, t.Exit
	}

	return shown
}

// findTask returns the task that a request names, if the caller may see it or has the privilege on its node.
func (s *Server) findTask(c *call, privilege string) (task.Record, error) {
	upid := c.params.Get("upid")
	if !task.ValidUPID(upid) {
		return task.Record{}, schema.BadParam("upid", "unable to parse worker upid")
	}

	t, ok := s.tasks.Find(upid)
	if !ok {
		return task.Record{}, schema.BadParam("upid", "no such task")
	}

	return t, s.maySee(c.identity, t, privilege)
}

// maySee fails for tasks that are another user's, unless the caller has the privilege on the node (API2/Tasks.pm,
// check_task_user). A token sees its own tasks, a user those of its tokens too.
func (s *Server) maySee(identity string, t task.Record, privilege string) error {
	if t.User == identity || access.Owner(t.User) == identity {
		return nil
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	return s.state.Access.Check(identity, "/nodes/"+t.Node, false, privilege)
}

// taskStatus answers GET …/tasks/{upid}/status.
func (s *Server) taskStatus(c *call) (any, error) {
	t, err := s.findTask(c, "Sys.Audit")
	if err != nil {
		return nil, err
	}

	return showTask(t, false), nil
}

// logLine is one line of a task's log.
type logLine struct {
	N int    `json:"n"`
	T string `json:"t"`
}

// taskLog answers GET …/tasks/{upid}/log.
func (s *Server) taskLog(c *call) (any, error) {
	t, err := s.findTask(c, "Sys.Audit")
	if err != nil {
		return nil, err
	}

	const usual = 50

	total := len(t.Log)
	c.total = &total

	start := min(c.params.Int("start", 0), total)

	limit := c.params.Int("limit", usual)
	if limit == 0 {
		limit = total
	}

	lines := []logLine{}
	for i, text := range t.Log[start:min(start+limit, total)] {
		lines = append(lines, logLine{N: start + i + 1, T: text})
	}

	// An empty log has one line that says so (pve-common Tools.pm, dump_logfile).
	if total == 0 {
		lines = append(lines, logLine{N: 1, T: "no content"})
	}

	return lines, nil
}

// stopTaskCall answers DELETE …/tasks/{upid}.
func (s *Server) stopTaskCall(c *call) (any, error) {
	t, err := s.findTask(c, "Sys.Modify")
	if err != nil {
		return nil, err
	}

	s.interrupt(t.UPID)

	return nil, nil
}

// listTasks answers GET /nodes/{node}/tasks.
func (s *Server) listTasks(c *call) (any, error) {
	const usual = 50

	list := []shownTask{}

	for _, t := range s.tasks.OfNode(c.node) {
		if matchesTask(c.params, t) && s.maySee(c.identity, t, "Sys.Audit") == nil {
			list = append(list, showTask(t, true))
		}
	}

	total := len(list)
	c.total = &total
	start := min(c.params.Int("start", 0), total)

	return list[start:min(start+c.params.Int("limit", usual), total)], nil
}

func matchesTask(params schema.Params, t task.Record) bool {
	source := params.Get("source")
	failed := !t.Running() && t.Exit != task.StatusOK && !strings.HasPrefix(t.Exit, "WARNINGS:")

	switch {
	case source != "all" && t.Running() != (source == "active"):
		return false
	case params.Has("vmid") && t.ID != params.Get("vmid"):
		return false
	case params.Has("typefilter") && t.Type != params.Get("typefilter"):
		return false
	case params.Has("userfilter") && !strings.Contains(t.User, params.Get("userfilter")):
		return false
	case params.Bool("errors", false) && !failed:
		return false
	case params.Has("since") && t.Start < int64(params.Int("since", 0)):
		return false
	case params.Has("until") && t.Start > int64(params.Int("until", 0)):
		return false
	default:
		return !params.Has("statusfilter") || slices.Contains(params.List("statusfilter"), statusKind(t, failed))
	}
}

func statusKind(t task.Record, failed bool) string {
	switch {
	case failed:
		return "error"
	case strings.HasPrefix(t.Exit, "WARNINGS:"):
		return "warning"
	case t.Exit == task.StatusOK:
		return "ok"
	default:
		return "unknown"
	}
}

// taskIndex answers GET …/tasks/{upid}.
func (s *Server) taskIndex(*call) (any, error) { return folders("name", "log", "status"), nil }

func taskRows() []row {
	const base = "/nodes/{node}/tasks"

	return []row{
		{Verb: http.MethodGet, Path: "/cluster/tasks", serve: (*Server).clusterTasks},
		{Verb: http.MethodGet, Path: base, serve: (*Server).listTasks},
		{Verb: http.MethodGet, Path: base + "/{upid}", serve: (*Server).taskIndex},
		{Verb: http.MethodDelete, Path: base + "/{upid}", serve: (*Server).stopTaskCall},
		{Verb: http.MethodGet, Path: base + "/{upid}/status", serve: (*Server).taskStatus},
		{Verb: http.MethodGet, Path: base + "/{upid}/log", serve: (*Server).taskLog},
	}
}
