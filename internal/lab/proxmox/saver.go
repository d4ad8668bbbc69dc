package proxmox

import "time"

// saver writes the state file a moment after something changed, so that a killed lab loses next to nothing.
type saver struct {
	dirty chan struct{}
	stopc chan struct{}
	done  chan error
}

// restDelay collects the changes of a burst into one writing.
const restDelay = 100 * time.Millisecond

func newSaver() saver {
	return saver{dirty: make(chan struct{}, 1), stopc: make(chan struct{}), done: make(chan error, 1)}
}

// changed asks for a saving soon.
func (v saver) changed() {
	select {
	case v.dirty <- struct{}{}:
	default:
	}
}

// run saves until stop is called, and then a last time.
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

// stop has the state saved a last time. A second stop does nothing.
func (v saver) stop() error {
	select {
	case <-v.stopc:
		return nil
	default:
		close(v.stopc)
		return <-v.done
	}
}
