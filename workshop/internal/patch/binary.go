package patch

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
)

// isBinary is git's test, over the whole content: a NUL byte.
func isBinary(data []byte) bool { return bytes.IndexByte(data, 0) >= 0 }

// writeBinary writes both directions, so that the patch can also be taken back.
func writeBinary(out *bytes.Buffer, old, new []byte) {
	out.WriteString("GIT binary patch\n")
	writeLiteral(out, new)
	writeLiteral(out, old)
}

func writeLiteral(out *bytes.Buffer, data []byte) {
	fmt.Fprintf(out, "literal %d\n", len(data))
	var packed bytes.Buffer
	writer := zlib.NewWriter(&packed)
	writer.Write(data)
	writer.Close()
	for rest := packed.Bytes(); len(rest) > 0; {
		size := min(len(rest), 52)
		out.WriteByte(lengthChar(size))
		encode85(out, rest[:size])
		out.WriteByte('\n')
		rest = rest[size:]
	}
	out.WriteByte('\n')
}

func lengthChar(size int) byte {
	if size <= 26 {
		return byte('A' + size - 1)
	}
	return byte('a' + size - 27)
}

const alphabet85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"

// encode85 writes 5 characters for every 4 bytes, the last group filled with zeros.
func encode85(out *bytes.Buffer, data []byte) {
	for len(data) > 0 {
		var group [4]byte
		data = data[copy(group[:], data):]
		value := binary.BigEndian.Uint32(group[:])
		var chars [5]byte
		for i := 4; i >= 0; i-- {
			chars[i] = alphabet85[value%85]
			value /= 85
		}
		out.Write(chars[:])
	}
}
