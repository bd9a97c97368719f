"""One module per noun. A route asks `Auth` first, then reads or acts; nothing here decides who may do what."""
