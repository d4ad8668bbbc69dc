package truenas

import (
	"fmt"
	"time"

	"github.com/google/uuid"
)

// job is work that goes on after its call was answered with its ID (job.py).
type job struct {
	ID       int
	method   string
	started  time.Time
	finished time.Time
	state    string
	result   any
	failed   error
	done     chan struct{}
}

// start begins a job with the state locked. The work is done at once, but is answered like that of a job: with its ID.
func (b *Box) start(method string, work func() (any, error)) int {
	j := &job{ID: len(b.jobs) + 1, method: method, started: b.config.Now(), state: "RUNNING", done: make(chan struct{})}
	b.jobs = append(b.jobs, j)
	b.notify("added", "core.get_jobs", j.ID, b.jobEntry(j))
	if b.fails(faultJobFailed, method) {
		j.failed = callError{number: 14, text: "Failed to start service"}
	} else {
		j.result, j.failed = work()
	}
	j.state, j.finished = "SUCCESS", b.config.Now()
	if j.failed != nil {
		j.state, j.result = "FAILED", nil
	}
	b.notify("changed", "core.get_jobs", j.ID, b.jobEntry(j))
	close(j.done)
	return j.ID
}

// jobEntry is a job as core.get_jobs answers it (job.py, __encode__).
func (b *Box) jobEntry(j *job) entry {
	one := entry{
		"id": j.ID, "message_ids": []any{}, "method": j.method, "arguments": []any{}, "transient": false, "description": nil,
		"abortable": false, "logs_path": nil, "logs_excerpt": nil, "progress": entry{"percent": 0, "description": "", "extra": nil},
		"result": j.result, "result_encoding_error": nil, "error": nil, "exception": nil, "exc_info": nil, "state": j.state,
		"time_started": date(j.started), "time_finished": nil, "credentials": nil,
	}
	if !j.finished.IsZero() {
		one["time_finished"], one["progress"] = date(j.finished), entry{"percent": 100, "description": "", "extra": nil}
	}
	if failed, is := j.failed.(callError); is {
		one["error"], one["exception"] = failed.Error(), failed.Error()
		one["exc_info"] = entry{"repr": fmt.Sprintf("CallError(%q)", failed.text), "type": "CallError", "errno": failed.number, "extra": nil}
	} else if j.failed != nil {
		one["error"] = j.failed.Error()
	}
	return one
}

// date is a time as the API writes it (truenas_api_client, ejson.py).
func date(at time.Time) entry { return entry{"$date": at.UnixMilli()} }

func (b *Box) coreMethods() map[string]method {
	return map[string]method{
		"core.ping": {open: true, work: func(*connection, []any) (any, error) { return "pong", nil }},
		"core.get_jobs": {
			parameters: queryParameters,
			work: func(_ *connection, params []any) (any, error) {
				list := make([]entry, len(b.jobs))
				for i, j := range b.jobs {
					list[i] = copyOf(b.jobEntry(j)).(entry)
				}
				return query(list, params[0].([]any), params[1].(entry))
			},
		},
		"core.job_wait": {parameters: model{{"id", integer, required}}, unlocked: b.waitForJob},
		"core.subscribe": {
			parameters: model{{"event", text, required}},
			work: func(c *connection, params []any) (any, error) {
				ID := uuid.NewString()
				c.mu.Lock()
				defer c.mu.Unlock()
				c.subscriptions[ID] = params[0].(string)
				return ID, nil
			},
		},
		"core.unsubscribe": {
			parameters: model{{"id", text, required}},
			work: func(c *connection, params []any) (any, error) {
				c.mu.Lock()
				defer c.mu.Unlock()
				delete(c.subscriptions, params[0].(string))
				return nil, nil
			},
		},
		"system.version":       {work: func(*connection, []any) (any, error) { return "TrueNAS-" + Release, nil }},
		"system.version_short": {work: func(*connection, []any) (any, error) { return Release, nil }},
		"system.info": {
			roles: []string{"READONLY_ADMIN", "SYSTEM_GENERAL_READ"},
			work: func(*connection, []any) (any, error) {
				return entry{"version": Release, "hostname": "truenas", "timezone": "UTC", "model": "emulated"}, nil
			},
		},
	}
}

// waitForJob is itself a job, whose result is that of the other.
func (b *Box) waitForJob(_ *connection, params []any) (any, error) {
	b.mu.Lock()
	number := int(params[0].(int64))
	if number < 1 || number > len(b.jobs) {
		b.mu.Unlock()
		return nil, callError{2, fmt.Sprintf("No job with id %d", number)}
	}
	waited := b.jobs[number-1]
	b.mu.Unlock()
	<-waited.done
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.start("core.job_wait", func() (any, error) { return waited.result, waited.failed }), nil
}

// notify sends an event to the connections that have subscribed to it, with the state locked
// (api/base/server/ws_handler/rpc.py, send_event).
func (b *Box) notify(event, collection string, ID any, fields entry) {
	message := entry{"jsonrpc": "2.0", "method": "collection_update", "params": entry{
		"msg": event, "collection": collection, "id": ID, "fields": copyOf(fields),
	}}
	for c := range b.connections {
		if c.subscribed(collection) {
			c.send(message)
		}
	}
}

func (c *connection) subscribed(collection string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range c.subscriptions {
		if name == collection || name == "*" {
			return true
		}
	}
	return false
}
