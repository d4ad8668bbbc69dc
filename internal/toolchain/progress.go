package toolchain

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/em-infra/em-infra/internal/terminal"
)

// progress prints the steps. On a terminal it rewrites one line every second. Otherwise it prints a line when a step starts, when
// it is done, and every half minute in between.
type progress struct {
	mu       sync.Mutex
	w        io.Writer
	terminal int // its file descriptor; -1 without a terminal
	every    time.Duration
}

func newProgress(w io.Writer) *progress {
	p := &progress{w: w, terminal: -1, every: 30 * time.Second}
	if w == nil {
		p.w = io.Discard
	}
	if f, ok := terminal.Raw(p.w).(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.terminal, p.every = int(f.Fd()), time.Second
	}
	return p
}

const (
	indent    = " tools      " // the CLI's phases start in this column
	clearLine = "\r\x1b[K"
)

// line prints a line that stays.
func (p *progress) line(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.write(fmt.Sprintf(format, args...))
}

// write prints a line that stays. It ignores errors, because they must not stop a run.
func (p *progress) write(text string) {
	if p.terminal >= 0 {
		_, _ = fmt.Fprint(terminal.Raw(p.w), clearLine)
	}
	_, _ = fmt.Fprintln(p.w, indent+text)
}

// rewrite prints a line over the last one, cut to the width of the terminal.
func (p *progress) rewrite(text string) {
	text = indent + text
	if width, _, err := term.GetSize(p.terminal); err == nil && width > 0 {
		if runes := []rune(text); len(runes) >= width {
			text = string(runes[:width-1])
		}
	}
	_, _ = fmt.Fprint(terminal.Raw(p.w), clearLine+text)
}

// step is a step that takes some time.
type step struct {
	p       *progress
	what    string
	latest  string    // its current action
	noted   time.Time // the time of latest
	started time.Time
	stop    chan struct{}
	stopped chan struct{}
}

// step prints the start of a step. The caller must end it by done or fail.
func (p *progress) step(what string) *step {
	s := &step{p: p, what: what, started: time.Now(), stop: make(chan struct{}), stopped: make(chan struct{})}
	p.mu.Lock()
	if p.terminal >= 0 {
		p.rewrite(what)
	} else {
		p.write(what)
	}
	p.mu.Unlock()
	go s.tick()
	return s
}

func (s *step) tick() {
	defer close(s.stopped)
	ticker := time.NewTicker(s.p.every)
	defer ticker.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-ticker.C:
			s.show()
		}
	}
}

func (s *step) show() {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	text := s.what + "  " + span(time.Since(s.started))
	if s.latest != "" && time.Since(s.noted) < 5*time.Second {
		text += "  " + s.latest
	}
	if s.p.terminal >= 0 {
		s.p.rewrite(text)
	} else {
		s.p.write(text)
	}
}

// note takes a line of output of the step's process. Only downloads are shown.
func (s *step) note(line string) {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	if downloaded, ok := strings.CutPrefix(line, downloading); ok {
		s.latest, s.noted = "downloading "+downloaded, time.Now()
	}
}

// done ends the step with a line that stays.
func (s *step) done(what string) {
	s.end()
	s.p.line("%s  %s", what, span(time.Since(s.started)))
}

// fail ends the step. The caller reports the error.
func (s *step) fail() {
	s.end()
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	if s.p.terminal >= 0 {
		_, _ = fmt.Fprint(terminal.Raw(s.p.w), clearLine)
	}
}

func (s *step) end() {
	close(s.stop)
	<-s.stopped
}

// span returns a duration in words, rounded to seconds.
func span(d time.Duration) string {
	d = d.Round(time.Second)
	minutes, seconds := int(d/time.Minute), int(d%time.Minute/time.Second)
	switch {
	case minutes == 0:
		return fmt.Sprintf("%d s", seconds)
	case seconds == 0:
		return fmt.Sprintf("%d min", minutes)
	default:
		return fmt.Sprintf("%d min %d s", minutes, seconds)
	}
}
