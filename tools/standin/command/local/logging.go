package local

import (
	"bytes"

	"github.com/pulumi/pulumi-go-provider/infer"
)

// Logging selects the streams of a command that are shown while it runs. It does not change the results.
type Logging string

// The values of Logging, as the SDK spells them.
const (
	LogStdout          Logging = "stdout"
	LogStderr          Logging = "stderr"
	LogStdoutAndStderr Logging = "stdoutAndStderr"
	NoLogging          Logging = "none"
)

// Values lists the values for the schema. The provider refuses all others.
func (Logging) Values() []infer.EnumValue[Logging] {
	return []infer.EnumValue[Logging]{
		{Name: string(LogStdout), Value: LogStdout, Description: "Show stdout alone"},
		{Name: string(LogStderr), Value: LogStderr, Description: "Show stderr alone"},
		{Name: string(LogStdoutAndStderr), Value: LogStdoutAndStderr, Description: "Show stdout and stderr"},
		{Name: string(NoLogging), Value: NoLogging, Description: "Show nothing"},
	}
}

func (l *Logging) stdout() bool { return l == nil || *l == LogStdout || *l == LogStdoutAndStderr }
func (l *Logging) stderr() bool { return l == nil || *l == LogStderr || *l == LogStdoutAndStderr }

// lines is a writer that passes each line to emit, without the line break.
type lines struct {
	emit func(line string)
	rest []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		line, rest, found := bytes.Cut(l.rest, []byte("\n"))
		if !found {
			return len(p), nil
		}
		l.emit(string(line))
		l.rest = rest
	}
}

// flush passes on a last line that has no line break.
func (l *lines) flush() {
	if len(l.rest) > 0 {
		l.emit(string(l.rest))
		l.rest = nil
	}
}
