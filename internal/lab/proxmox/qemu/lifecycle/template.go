package lifecycle

import (
	"errors"
	"strconv"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/config"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
)

// makeTemplate handles POST …/template (API2/Qemu.pm, template).
func (s *Service) makeTemplate(c *api.Call) (any, error) {
	err := s.configs.On(c.Node, c.VMID, func(m *config.VM) error { return s.checkTemplate(c, m) })
	if err != nil {
		return nil, err
	}

	return s.env.Tasks.Fork(c.Node, "qmtemplate", strconv.Itoa(c.VMID), c.Identity, c.VMID, func(w *task.Worker) error {
		return s.configs.WithLock(w.Ctx, c.VMID, func() error {
			if err := s.env.Wait(w.Ctx, pace.VMResize); err != nil {
				return err
			}

			return s.configs.On(c.Node, c.VMID, func(m *config.VM) error { return s.template(c, m) })
		})
	})
}

func (s *Service) checkTemplate(c *api.Call, m *config.VM) error {
	if err := m.CheckLock(s.env.Now()); err != nil {
		return err
	}

	switch disk := c.Params.Get("disk"); {
	case len(m.Snapshots) > 0:
		return errors.New("unable to create template, because VM contains snapshots")
	case m.Config.Template() && disk == "":
		return errors.New("you can't convert a template to a template")
	case s.processes.Running(m.ID):
		return errors.New("you can't convert a VM to template if VM is running")
	default:
		return nil
	}
}

func (s *Service) template(c *api.Call, m *config.VM) error {
	if err := s.checkTemplate(c, m); err != nil {
		return err
	}

	drives, err := s.access.Drives(m.Config)
	if err != nil {
		return err
	}

	for _, drive := range drives {
		if drive.CDROM() || c.Params.Has("disk") && c.Params.Get("disk") != drive.Key {
			continue
		}

		if drive.Options["file"], err = s.storages.MakeBase(m.Node, drive.Volume()); err != nil {
			return err
		}

		m.Config.Set(drive.Key, drive.String())
	}

	m.Config.Set("template", "1")
	s.env.Changed()

	return nil
}
