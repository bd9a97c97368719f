// Package limit holds every bound of the workshop; the shared ones equal guildhall_contracts/limits.py (a test compares).
package limit

const (
	KiB = 1024
	MiB = 1024 * KiB
)

// Shared with the contracts.
const (
	PathMaxChars                = 4_096
	EnvMaxCount                 = 32
	EnvValueMaxChars            = 4_096
	ArchiveUnpackedMaxBytes     = 512 * MiB
	ArchiveMaxEntries           = 200_000
	FrameMaxBytes               = 1 * MiB
	FrameDataMaxBytes           = 512 * KiB
	FrameMaxDepth               = 16
	WorkshopInflightMaxCount    = 64
	FileEditMaxBytes            = 16 * MiB
	ListMaxEntries              = 2_000
	SearchMaxMatches            = 500
	SearchLineMaxBytes          = 2_000
	SearchFileMaxBytes          = 8 * MiB
	CommandMaxBytes             = 64 * KiB
	CommandWallDefaultSeconds   = 120
	CommandWallMaxSeconds       = 3_600
	CommandIdleDefaultSeconds   = 60
	CommandOutputHeadBytes      = 16 * KiB
	CommandOutputTailBytes      = 16 * KiB
	CommandKillGraceSeconds     = 2
	CommandProcessesMaxCount    = 256
	BackgroundKeptMaxCount      = 32
	BackgroundCommandShownChars = 200
	PatchMaxBytes               = 8 * MiB
	BaselineContentMaxBytes     = 256 * MiB
	TerminationMessageMaxBytes  = 2 * KiB
	GateTargetsMaxCount         = 16
	GateConsecutiveDenialsCount = 3
	GateTimeoutSeconds          = 60
)

// The workshop's own.
const (
	ErrorMessageMaxChars      = 2_000
	ReplyListMaxBytes         = 900 * KiB // entries or matches in one frame, before JSON's own overhead
	DirectoryMaxNames         = 200_000   // names read from one directory
	CommandOutputPartMaxBytes = 256 * KiB // one of head and tail
	SearchPatternMaxChars     = 4_096
	SearchGlobMaxChars        = 256
	SearchWallSeconds         = 30
	SearchStatesMaxCount      = 5_000     // of a pattern's machine
	SearchBlockBytes          = 128 * KiB // matched at once
	SearchOverlapBytes        = 16 * KiB  // of two windows of a line longer than a block
	WalkMaxEntries            = 1_000_000 // files and directories below one root
	LinksMaxCount             = 40        // symbolic links followed for one path
	EditMatchesMaxCount       = 1_000_000
	EditHintMaxLines          = 200_000     // files with more get no hint why a text was not found
	EditHintMaxSteps          = 2_000_000   // lines compared for one hint
	StyleProbeBytes           = 1 * MiB     // of a file that is replaced, to keep its form
	LineSeekMaxBytes          = 4_096 * MiB // read to find a line by its number
	LineCountMaxBytes         = 16 * MiB    // read on to say how many lines there are
	StdinQueueMaxBytes        = 1 * MiB
	LivePieceMaxBytes         = 16 * KiB
	LiveIntervalMilliseconds  = 100
	BackgroundMaxCount        = 16
	DiffFileMaxBytes          = 16 * MiB // one file, old or new side
	DiffBinaryMaxBytes        = 2 * MiB  // a binary file in a patch, before compression
	BaselineFileMaxBytes      = 16 * MiB // content of one file kept; larger ones by hash only
	OmittedMaxCount           = 100
	OmittedMaxChars           = 300
)
