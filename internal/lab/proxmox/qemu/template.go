package qemu

import (
	"errors"
	"strconv"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
)

// makeTemplate answers POST …/template (API2/Qemu.pm, template).
func (s *Service) makeTemplate(c *api.Call) (any, error) {
	err := s.locked(func() error { return s.checkTemplate(c) })
	if err != nil {
		return nil, err
	}

	return s.env.Tasks.Fork(c.Node, "qmtemplate", strconv.Itoa(c.VMID), c.Identity, c.VMID, func(w *task.Worker) error {
		return s.withConfigLock(w.Ctx, c.VMID, func() error {
			if err := s.env.Wait(w.Ctx, pace.VMResize); err != nil {
				return err
			}

			return s.locked(func() error { return s.template(c) })
		})
	})
}

func (s *Service) checkTemplate(c *api.Call) error {
	m, err := s.find(c.Node, c.VMID)
	if err != nil {
		return err
	}

	if err := s.checkLock(m); err != nil {
		return err
	}

	switch disk := c.Params.Get("disk"); {
	case len(m.Snapshots) > 0:
		return errors.New("unable to create template, because VM contains snapshots")
	case m.Config.Template() && disk == "":
		return errors.New("you can't convert a template to a template")
	case m.Running:
		return errors.New("you can't convert a VM to template if VM is running")
	default:
		return nil
	}
}

func (s *Service) template(c *api.Call) error {
	if err := s.checkTemplate(c); err != nil {
		return err
	}

	m, err := s.find(c.Node, c.VMID)
	if err != nil {
		return err
	}

	drives, err := s.drives(m.Config)
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
