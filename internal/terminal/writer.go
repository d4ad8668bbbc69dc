package terminal

import (
	"bytes"
	"io"
	"strings"
	"sync"

	"golang.org/x/term"
)

// Writer folds the lines that are written to it to the width of its terminal, and lets [Paint] colour them. A line is written
// when it is complete, or with [Flush]. It is safe for concurrent use.
type Writer struct {
	out     io.Writer
	width   func() int // 0 for lines that are not folded
	colored func() bool

	mutex sync.Mutex
	begun []byte // an incomplete line
}

// file is implemented by an [os.File], which may be a terminal.
type file interface{ Fd() uintptr }

// New returns a writer to out: a terminal has a width and may have colours; other outputs have neither, unless the choice
// demands it. The choice may be made later, before anything is coloured.
func New(out io.Writer, choice *ColorChoice, getenv func(string) string) *Writer {
	behind, isFile := out.(file)
	onTerminal := isFile && term.IsTerminal(int(behind.Fd()))
	w := &Writer{out: out, width: func() int { return 0 }, colored: func() bool { return choice.wanted(onTerminal, getenv) }}
	if onTerminal {
		w.width = func() int { return widthOf(int(behind.Fd())) }
	}
	return w
}

// NewFolded returns a writer of a fixed width.
func NewFolded(out io.Writer, width int, colored bool) *Writer {
	return &Writer{out: out, width: func() int { return width }, colored: func() bool { return colored }}
}

// widthOf queries the terminal each time, since a window can be resized.
func widthOf(descriptor int) int {
	width, _, err := term.GetSize(descriptor)
	if err != nil || width <= 0 {
		return Columns // a pseudo-terminal without a size
	}
	return width
}

// Write implements [io.Writer].
func (w *Writer) Write(text []byte) (int, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.begun = append(w.begun, text...)
	end := bytes.LastIndexByte(w.begun, '\n') + 1
	if end == 0 {
		return len(text), nil
	}
	whole := string(w.begun[:end])
	w.begun = append(w.begun[:0], w.begun[end:]...)
	return len(text), w.emit(whole)
}

// Flush writes an incomplete line, such as a question.
func (w *Writer) Flush() error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	rest := string(w.begun)
	w.begun = w.begun[:0]
	return w.emit(rest)
}

func (w *Writer) emit(text string) error {
	width := w.width()
	var folded strings.Builder
	for line := range strings.Lines(text) {
		content, ended := strings.CutSuffix(line, "\n")
		folded.WriteString(strings.Join(Fold(content, width), "\n"))
		if ended {
			folded.WriteByte('\n')
		}
	}
	_, err := io.WriteString(w.out, folded.String())
	return err
}

// Flush writes the incomplete line of a [Writer]; other writers hold nothing back.
func Flush(out io.Writer) error {
	if w, folds := out.(*Writer); folds {
		return w.Flush()
	}
	return nil
}

// Raw returns the output of a [Writer], for text that must not be folded: JSON, a script, lines that are overwritten.
func Raw(out io.Writer) io.Writer {
	w, folds := out.(*Writer)
	if !folds {
		return out
	}
	_ = w.Flush() // the next write reports the error
	return w.out
}

// Width returns how many columns a line may have, 0 for any number.
func Width(out io.Writer) int {
	if w, folds := out.(*Writer); folds {
		return w.width()
	}
	return 0
}

// Paint returns a text in the colour of a tone if the writer has colours. Pad text before it is coloured.
func Paint(out io.Writer, tone Tone, text string) string {
	w, colors := out.(*Writer)
	if !colors || !w.colored() || tone == Plain || text == "" {
		return text
	}
	return tone.style().Styled(text)
}
