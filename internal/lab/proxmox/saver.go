package proxmox

import "time"

// saver writes the state file shortly after a change, so that a killed lab loses almost nothing.
type saver struct {
	dirty chan struct{}
	stopc chan struct{}
	done  chan error
}

// restDelay combines several changes into one write.
const restDelay = 100 * time.Millisecond

func newSaver() saver {
	return saver{dirty: make(chan struct{}, 1), stopc: make(chan struct{}), done: make(chan error, 1)}
}

// changed requests a save soon.
func (v saver) changed() {
	select {
	case v.dirty <- struct{}{}:
	default:
	}
}

// run saves until stop is called, and then once more.
func (v saver) run(save func() error, note func(string, error)) {
	for {
		select {
		case <-v.stopc:
			v.done <- save()
			return
		case <-v.dirty:
		}

		select {
		case <-v.stopc:
			v.done <- save()
			return
		case <-time.After(restDelay):
		}

		if err := save(); err != nil {
			note("state not saved", err)
		}
	}
}

// stop saves the state once more. A second call does nothing.
func (v saver) stop() error {
	select {
	case <-v.stopc:
		return nil
	default:
		close(v.stopc)
		return <-v.done
	}
}
