package resident

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Release unmaps the code and the constants of the program, and marks their pages in the page cache as the first to be dropped.
// What is used again is mapped again, without reading the disk as long as the page cache has it. Call it once after the start.
func Release() error {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("find the program: %w", err)
	}
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return fmt.Errorf("read the memory map: %w", err)
	}
	found, err := mappings(bytes.NewReader(maps), program)
	if err != nil {
		return err
	}
	var failed []error
	for _, one := range found {
		// Older kernels do not know MADV_COLD; the pages are unmapped all the same.
		if err := advise(one, unix.MADV_COLD); err != nil && !errors.Is(err, unix.EINVAL) {
			failed = append(failed, err)
		}
		failed = append(failed, advise(one, unix.MADV_DONTNEED))
	}
	return errors.Join(failed...)
}

// mapping is a range of addresses.
type mapping struct{ from, to uintptr }

// mappings reads from an smaps file the mappings of a file that hold nothing but what the file has. They cannot be written, and
// no page was changed otherwise, as a debugger or a dynamic linker does.
func mappings(smaps io.Reader, path string) ([]mapping, error) {
	var found []mapping
	var current mapping
	ours := false
	lines := bufio.NewScanner(smaps)
	for lines.Scan() {
		line := lines.Text()
		if next, access, ok := header(line); ok {
			current, ours = next, strings.HasSuffix(line, " "+path) && !strings.Contains(access, "w")
		} else if ours && isUnchanged(line) {
			found = append(found, current)
		}
	}
	return found, lines.Err()
}

// header parses the first line of a mapping; false for the lines of its figures.
func header(line string) (m mapping, access string, ok bool) {
	n, _ := fmt.Sscanf(line, "%x-%x %s", &m.from, &m.to, &access)
	return m, access, n == 3
}

// isUnchanged reports whether a line says that the mapping has no page of its own.
func isUnchanged(line string) bool {
	fields := strings.Fields(line)
	return len(fields) == 3 && fields[0] == "Anonymous:" && fields[1] == "0"
}

func advise(m mapping, advice uintptr) error {
	if _, _, errno := unix.Syscall(unix.SYS_MADVISE, m.from, m.to-m.from, advice); errno != 0 {
		return fmt.Errorf("advise the kernel on %x-%x: %w", m.from, m.to, errno)
	}
	return nil
}
