// Package tasks serves the API methods about tasks. The tasks themselves are in package task, with which every part of the
// host starts its workers. This package is stateless.
package tasks

import (
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/host"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
)

// shownTask is a task in the API. A token's task belongs to its user (pve-manager API2/Tasks.pm, convert_token_task).
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
		shown.Status = "running"
	default:
		shown.Status, shown.ExitStatus = "stopped", t.Exit
	}

	return shown
}

// Permissions checks what callers may do.
type Permissions interface {
	Check(identity, path string, anyOf bool, privileges ...string) error
}

// Service serves the methods. It is safe for concurrent use.
type Service struct {
	env         *host.Environment
	permissions Permissions
}

// New returns a service for the tasks of a host.
func New(env *host.Environment, permissions Permissions) *Service {
	return &Service{env: env, permissions: permissions}
}

// findTask returns the task of a request, if the caller may see it or has the privilege on its node.
func (s *Service) findTask(c *api.Call, privilege string) (task.Record, error) {
	upid := c.Params.Get("upid")
	if !task.ValidUPID(upid) {
		return task.Record{}, schema.BadParam("upid", "unable to parse worker upid")
	}

	t, ok := s.env.Tasks.List().Find(upid)
	if !ok {
		return task.Record{}, schema.BadParam("upid", "no such task")
	}

	return t, s.maySee(c.Identity, t, privilege)
}

// maySee returns an error for another user's task, unless the caller has the privilege on the node (API2/Tasks.pm,
// check_task_user). A token sees its own tasks, a user also those of its tokens.
func (s *Service) maySee(identity string, t task.Record, privilege string) error {
	if t.User == identity || access.Owner(t.User) == identity {
		return nil
	}

	return s.permissions.Check(identity, "/nodes/"+t.Node, false, privilege)
}

// taskStatus handles GET …/tasks/{upid}/status.
func (s *Service) taskStatus(c *api.Call) (any, error) {
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

// taskLog handles GET …/tasks/{upid}/log.
func (s *Service) taskLog(c *api.Call) (any, error) {
	t, err := s.findTask(c, "Sys.Audit")
	if err != nil {
		return nil, err
	}

	const usual = 50

	total := len(t.Log)
	c.Total = &total

	start := min(c.Params.Int("start", 0), total)

	limit := c.Params.Int("limit", usual)
	if limit == 0 {
		limit = total
	}

	lines := []logLine{}
	for i, text := range t.Log[start:min(start+limit, total)] {
		lines = append(lines, logLine{N: start + i + 1, T: text})
	}

	// An empty log has this one line (pve-common Tools.pm, dump_logfile).
	if total == 0 {
		lines = append(lines, logLine{N: 1, T: "no content"})
	}

	return lines, nil
}

// stopTaskCall handles DELETE …/tasks/{upid}.
func (s *Service) stopTaskCall(c *api.Call) (any, error) {
	t, err := s.findTask(c, "Sys.Modify")
	if err != nil {
		return nil, err
	}

	s.env.Tasks.Interrupt(t.UPID)

	return nil, nil
}

// listTasks handles GET /nodes/{node}/tasks.
func (s *Service) listTasks(c *api.Call) (any, error) {
	const usual = 50

	list := []shownTask{}

	for _, t := range s.env.Tasks.List().OfNode(c.Node) {
		if matchesTask(c.Params, t) && s.maySee(c.Identity, t, "Sys.Audit") == nil {
			list = append(list, showTask(t, true))
		}
	}

	total := len(list)
	c.Total = &total
	start := min(c.Params.Int("start", 0), total)

	return list[start:min(start+c.Params.Int("limit", usual), total)], nil
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

// clusterTasks handles GET /cluster/tasks. It returns the latest tasks that the caller may see.
func (s *Service) clusterTasks(c *api.Call) (any, error) {
	const most = 25

	shown := []shownTask{}

	for _, t := range s.env.Tasks.List().All() {
		if s.maySee(c.Identity, t, "Sys.Audit") == nil {
			shown = append(shown, showTask(t, true))
		}
	}

	return slices.Clip(shown[:min(most, len(shown))]), nil
}

// taskIndex handles GET …/tasks/{upid}.
func (s *Service) taskIndex(*api.Call) (any, error) { return api.Folders("name", "log", "status"), nil }

// Methods returns the API methods of the service.
func (s *Service) Methods() []api.Method {
	const base = "/nodes/{node}/tasks"

	return []api.Method{
		api.Get("/cluster/tasks", s.clusterTasks),
		api.Get(base, s.listTasks),
		api.Get(base+"/{upid}", s.taskIndex),
		api.Delete(base+"/{upid}", s.stopTaskCall),
		api.Get(base+"/{upid}/status", s.taskStatus),
		api.Get(base+"/{upid}/log", s.taskLog),
	}
}
