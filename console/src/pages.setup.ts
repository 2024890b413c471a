import { configure } from "@testing-library/react";

// The default is one second. The first test of a file renders its page for the first time, which alone takes half of that on an idle machine.
configure({ asyncUtilTimeout: 30_000 });
