package proxmox

import (
	"errors"
	"strconv"

	"github.com/em-infra/em-infra/internal/lab/pace"
)

// makeTemplate answers POST …/template (API2/Qemu.pm, template).
func (s *Server) makeTemplate(c *call) (any, error) {
	err := s.locked(func() error { return s.checkTemplate(c) })
	if err != nil {
		return nil, err
	}

	return s.fork(c.node, "qmtemplate", strconv.Itoa(c.vmid), c.identity, c.vmid, func(w *worker) error {
		return s.withConfigLock(w.ctx, c.vmid, func() error {
			if err := s.wait(w.ctx, pace.VMResize); err != nil {
				return err
			}

			return s.locked(func() error { return s.template(c) })
		})
	})
}

func (s *Server) checkTemplate(c *call) error {
	m, err := s.state.find(c.node, c.vmid)
	if err != nil {
		return err
	}

	if err := s.checkLock(m); err != nil {
		return err
	}

	switch disk := c.params.Get("disk"); {
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

func (s *Server) template(c *call) error {
	if err := s.checkTemplate(c); err != nil {
		return err
	}

	m, err := s.state.find(c.node, c.vmid)
	if err != nil {
		return err
	}

	drives, err := s.drives(m.Config)
	if err != nil {
		return err
	}

	for _, drive := range drives {
		if drive.CDROM() || c.params.Has("disk") && c.params.Get("disk") != drive.Key {
			continue
		}

		st, err := s.state.storage(drive.Storage(), m.Node)
		if err != nil {
			return err
		}

		if drive.Options["file"], err = st.MakeBase(m.Node, drive.Volume()); err != nil {
			return err
		}

		m.Config.Set(drive.Key, drive.String())
	}

	m.Config.Set("template", "1")
	s.changed()

	return nil
}
