package truenas

import (
	"context"
	"time"

	"github.com/em-infra/em-infra/internal/remedy"
)

// serviceTimeout is how long a service may take to start: the box itself gives it 120 s (api/v25_10_5/service.py, ServiceOptions).
const serviceTimeout = 150 * time.Second

// Service is a system service of the box: nfs or iscsitarget.
type Service struct {
	// Name of the service. Required.
	Name string `json:"name"`
	// Enabled starts it with the box. Required.
	Enabled bool `json:"enabled"`
	// Running is whether it runs. Required.
	Running bool `json:"running"`
}

// FindService returns a service as it is. An unknown one is an error.
func (c *Client) FindService(ctx context.Context, wanted Service) (*Service, error) {
	var found []struct {
		Enable bool   `json:"enable"`
		State  string `json:"state"`
	}
	if err := c.Call(ctx, &found, "service.query", []any{[]any{"service", "=", wanted.Name}}); err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, remedy.Errorf("its release is not supported, see docs/storage.md", "TrueNAS has no service %s", wanted.Name)
	}
	return &Service{Name: wanted.Name, Enabled: found[0].Enable, Running: found[0].State == "RUNNING"}, nil
}

// WriteService switches a service on. The job is not silent: in a silent job, a service that does not start would be a result and no error.
func (c *Client) WriteService(ctx context.Context, wanted Service, found *Service) error {
	if wanted.Enabled != found.Enabled {
		if err := c.Call(ctx, nil, "service.update", wanted.Name, map[string]any{"enable": wanted.Enabled}); err != nil {
			return err
		}
	}
	if wanted.Running == found.Running || !wanted.Running {
		return nil
	}
	var runs bool
	err := c.RunJob(ctx, serviceTimeout, &runs, "service.control", "START", wanted.Name, map[string]any{"silent": false})
	if err == nil && !runs {
		err = remedy.Errorf("see its log on the box, System > Services", "the service %s of TrueNAS does not run after its start", wanted.Name)
	}
	return err
}

// KeepService says why a service is left as it is.
func KeepService(wanted Service) *Kept {
	return &Kept{"the service " + wanted.Name + " of TrueNAS stays on: others may use it"}
}
