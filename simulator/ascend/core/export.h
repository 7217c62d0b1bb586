#pragma once

// What one of our libraries uses of another. Everything else is hidden, but for CANN's symbols.
#define SIM_API __attribute__((visibility("default")))
